#include "communicator/center/async_center.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/options/number_text.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {
namespace {

// Exchanges of all shards together: 64 MiB at two bytes each.
constexpr std::int64_t kLongestOrder = std::int64_t{1} << 25;

std::vector<int> owners_of(const AsyncSettings& settings) {
  std::vector<int> owners(
      static_cast<std::size_t>(settings.center_ranks > 0 ? settings.center_ranks : settings.workers));
  std::iota(owners.begin(), owners.end(), settings.center_ranks > 0 ? settings.workers : 0);
  return owners;
}

}  // namespace

void EncodedMessage::begin(const CenterLayout& layout, Device& device, std::size_t size) {
  if (!codec_) return;
  layout_ = &layout;
  device_ = &device;
  std::size_t all = 0;
  for (std::size_t i = 0; i < layout.shards(); ++i) all += message_size(codec_.get(), layout.shard(i).size);
  encoded_ = Buffer(all);
  if (device.kind() != DeviceKind::kCpu) staged_ = device.allocate_for_host(size);
  std::size_t at = 0;
  for (std::size_t i = 0; i < layout.shards(); ++i) {
    shards_.push_back(encoded_.slice().subspan(at, message_size(codec_.get(), layout.shard(i).size)));
    at += shards_.back().size();
  }
}

template <class Visit>
void EncodedMessage::visit_shards(Slice message, Visit visit) {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    visit(cut(message, layout_->shard(i)), reinterpret_cast<std::byte*>(shards_[i].data()));
  }
}

void EncodedMessage::encode(Slice message) {
  const bool is_staged = staged_.size() > 0;
  if (is_staged) device_->read(message, staged_.slice());
  visit_shards(is_staged ? staged_.slice() : message,
               [this](Slice shard, std::byte* bytes) { eave::encode(*codec_, shard, bytes); });
}

void EncodedMessage::decode(Slice message) {
  const bool is_staged = staged_.size() > 0;
  visit_shards(is_staged ? staged_.slice() : message,
               [this](Slice shard, std::byte* bytes) { eave::decode(*codec_, shard, bytes); });
  if (is_staged) device_->write(message, staged_.slice());
}

AsyncCenter::AsyncCenter(Transport& transport, AsyncSettings settings, CenterRule rule, Vectors vectors)
    : transport_(transport),
      settings_(std::move(settings)),
      rule_(std::move(rule)),
      vectors_(vectors),
      snapshots_(vectors.count),
      encoded_(settings_.codec) {}

// If an exception unwinds, other ranks may still send requests to this center.
AsyncCenter::~AsyncCenter() {
  if (shards_) transport_.withdraw();
}

void AsyncCenter::begin(const ReplicaView& replica) {
  replica_ = replica;
  seconds_waiting_ += share_replica(transport_, replica);
  const std::size_t size = replica.parameters.size();
  const std::vector<int> owners = owners_of(settings_);
  layout_.emplace(size, shard_size(size, owners.size()), owners);
  if (settings_.log && settings_.log->shards != static_cast<std::int64_t>(layout_->shards())) {
    throw AgreedError(ExitCode::kUsage, "--replay: it is the order of another run, with a center of " +
                                            count_text(settings_.log->shards, "shard") + ", and here it has " +
                                            std::to_string(layout_->shards()) + "; repeat that run's settings");
  }
  if (settings_.log) even_ = even_exchanges(*settings_.log);
  message_ = replica.device->allocate(size);
  if (replica.device->kind() != DeviceKind::kCpu) shown_ = replica.device->allocate(size);
  for (std::size_t i = 0; i < vectors_.count; ++i) {
    snapshots_[i] = replica.device->allocate_for_host(size);
    if (i < vectors_.equal) replica.device->read(replica.parameters, snapshots_[i].slice());
  }
  encoded_.begin(*layout_, *replica.device, size);
  for (const std::size_t shard : order_of_shards()) {
    requests_.push_back({layout_->owner(shard), static_cast<std::int64_t>(shard),
                         encoded_ ? encoded_.shard(shard) : cut(message_.slice(), layout_->shard(shard))});
  }
  begin_worker();
}

std::size_t AsyncCenter::shard_size(std::size_t size, std::size_t owners) const {
  if (settings_.longest_shard > 0) return even_shard_size(size, settings_.longest_shard, owners);
  return shard_size_of(size, static_cast<std::size_t>(settings_.log->shards), owners);
}

// Workers begin at different owners, so workers that come at the same time do not queue at one owner. In round-robin
// order all workers ask in the same order, so they follow each other from shard to shard.
std::vector<std::size_t> AsyncCenter::order_of_shards() const {
  if (settings_.order != ExchangeOrder::Kind::kRoundRobin && is_worker()) {
    const std::size_t owners = layout_->owners().size();
    return layout_->dealt_out(owners * static_cast<std::size_t>(transport_.rank()) /
                              static_cast<std::size_t>(workers()));
  }
  std::vector<std::size_t> shards(layout_->shards());
  std::iota(shards.begin(), shards.end(), std::size_t{0});
  return shards;
}

void AsyncCenter::wait_in(const std::function<void()>& collective) {
  const auto start = std::chrono::steady_clock::now();
  collective();
  seconds_waiting_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs before the first step. A checkpoint has been restored into the slices of state() by then, so the snapshots hold
// the center to begin with.
void AsyncCenter::open_center() {
  std::vector<ConstSlice> vectors;
  for (const Buffer& snapshot : snapshots_) vectors.push_back(snapshot.slice());
  shards_ = std::make_unique<CenterShards>(*layout_, transport_.rank(), *replica_.device, vectors, rule_, order(),
                                           settings_.codec);
  wait_in([this] { transport_.serve(shards_.get()); });
}

ExchangeOrder AsyncCenter::order() const {
  ExchangeOrder order;
  order.kind = settings_.order;
  order.workers = workers();
  order.exchanges = exchanges_of_worker(settings_) * workers();
  order.exchanges_before = exchanges_before(settings_.first_step, settings_) * workers();
  order.is_kept = keeps_order();
  if (settings_.log) order.replay = settings_.log->order;
  return order;
}

void AsyncCenter::before_gradients(const Step& step) {
  if (!shards_) open_center();
  is_snapshot_of_now_ = false;
  if (is_worker()) before_gradients_of_worker(step);
}

void AsyncCenter::send() {
  if (encoded_) encoded_.encode(message_.slice());
  exchange_ = transport_.request(requests_);
  in_flight_ = true;
  ++exchanges_;
}

void AsyncCenter::settle() {
  if (!in_flight_) return;
  seconds_waiting_ += exchange_.wait();
  if (encoded_) encoded_.decode(message_.slice());
  in_flight_ = false;
}

// After the all_gather no worker has a request in flight. Owners broadcast a copy, so a rank that leaves first may
// exchange again.
void AsyncCenter::take_snapshot() {
  transport_.all_gather("");
  report_.exchanges = exchanges_;
  if (layout_->owners().front() == 0 && transport_.rank() == 0) report_.staleness = shards_->staleness();
  for (std::size_t i = 0; i < vectors_.count; ++i) {
    const Slice snapshot = snapshots_[i].slice();
    std::ranges::copy(shards_->kept(i), cut(snapshot, layout_->kept(transport_.rank())).begin());
    for (const int owner : layout_->owners()) transport_.broadcast(cut(snapshot, layout_->kept(owner)), owner).wait();
  }
}

ConstSlice AsyncCenter::consensus() {
  settle();
  if (shards_ && !is_snapshot_of_now_) wait_in([this] { take_snapshot(); });
  is_snapshot_of_now_ = true;
  const Slice snapshot = snapshots_[vectors_.shown].slice();
  if (shown_.size() == 0) return snapshot;
  replica_.device->write(shown_.slice(), snapshot);
  return shown_.slice();
}

std::vector<Slice> AsyncCenter::state() {
  std::vector<Slice> state;
  for (Buffer& snapshot : snapshots_) state.push_back(snapshot.slice());
  return state;
}

std::int64_t AsyncCenter::next_meeting(std::int64_t steps) const {
  const auto is_even = [this](std::int64_t exchanges) { return even_[static_cast<std::size_t>(exchanges)]; };
  while (settings_.log && steps < settings_.steps && !is_even(exchanges_before(steps, settings_))) ++steps;
  return steps;
}

void AsyncCenter::finish() {
  consensus();
  if (!shards_) return;
  wait_in([this] {
    write_report();
    transport_.serve(nullptr);
  });
  shards_.reset();
}

void AsyncCenter::write_report() {
  report_.exchanges = exchanges_;
  report_.order_is_too_long = has_order() && !keeps_order();
  if (keeps_order()) write_order();
  const std::vector<std::int64_t>& counts = shards_->staleness();
  const std::string mine(reinterpret_cast<const char*>(counts.data()), counts.size() * sizeof(std::int64_t));
  const std::vector<std::string> of_ranks = transport_.gather(mine);
  if (of_ranks.empty()) return;
  const std::string& first = of_ranks[static_cast<std::size_t>(layout_->owners().front())];
  report_.staleness.resize(first.size() / sizeof(std::int64_t));
  std::memcpy(report_.staleness.data(), first.data(), first.size());
}

// A round-robin run needs no log to be repeated. The log of a resumed run would not cover the whole run.
bool AsyncCenter::has_order() const {
  return settings_.order != ExchangeOrder::Kind::kRoundRobin && settings_.first_step == 0 && settings_.steps > 0;
}

bool AsyncCenter::keeps_order() const {
  const auto shards = static_cast<std::int64_t>(layout_->shards());
  return has_order() && (shards == 0 || exchanges_of_worker(settings_) * workers() <= kLongestOrder / shards);
}

void AsyncCenter::write_order() {
  const std::vector<std::string> parts = transport_.gather(shards_->order_bytes());
  // If the run ended early, the log would not cover the whole run.
  if (transport_.rank() != 0 || exchanges_ < exchanges_of_worker(settings_)) return;
  std::string all;
  for (const std::string& each : parts) all += each;
  ExchangeLog log;
  log.settings = settings_.settings;
  log.workers = workers();
  log.shards = static_cast<std::int64_t>(layout_->shards());
  log.order.resize(all.size() / sizeof(std::uint16_t));
  std::memcpy(log.order.data(), all.data(), all.size());
  log.exchanges = log.shards > 0 ? static_cast<std::int64_t>(log.order.size()) / log.shards : 0;
  report_.order = encode(log);
}

}  // namespace eave
