#include "transport/messages/message_wire.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "transport/core/transport_base.h"
#include "transport/messages/chunk_sizes.h"

namespace eave {
namespace {

enum Tag {
  kScatter = 1,
  kGather,
  kExchange,
  kTexts,
  kToFirst = 12,
  kFromFirst
};  // kTexts to 11 belong to MessageTexts

constexpr std::size_t kSlots = 13;
// Jobs of more ranks take memory for their slots when they first need it.
constexpr int kMostPrepared = 8;
// The longest wait for an event that ends the wait: one of this host's ranks, when this rank has no requests to answer,
// or a message.
constexpr std::chrono::milliseconds kLongestWait(100);

class OneSum final : public SumQueue {
 public:
  explicit OneSum(Slice values) : values_(values) {}
  std::optional<Slice> next() override { return std::exchange(values_, std::nullopt); }
  void done() override {}

 private:
  std::optional<Slice> values_;
};

class HeldSends {
 public:
  explicit HeldSends(Messages& messages) : messages_(messages) { messages_.hold_sends(true); }
  HeldSends(const HeldSends&) = delete;
  HeldSends& operator=(const HeldSends&) = delete;
  ~HeldSends() { messages_.hold_sends(false); }

 private:
  Messages& messages_;
};

void add(const float* values, float* sum, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
}

}  // namespace

MessageWire::MessageWire(std::unique_ptr<Messages> messages, MessageWireSettings settings)
    : messages_(std::move(messages)),
      server_(*messages_),
      requester_(*messages_, server_),
      settings_(std::move(settings)),
      chunk_sizes_{settings_.part == 0 ? slow_link_chunks()
                                       : ChunkSizes{settings_.part, fast_link_chunks().in_flight_bytes,
                                                    fast_link_chunks().request, false}},
      texts_(*messages_, kTexts, [this](Requests& requests) { wait_for(requests); }),
      compressed_(*this, rank(), size()) {
  all_ = all_ranks(size());
  slots_.resize(kSlots);
  if (size() <= kMostPrepared) prepare_slots();
  if (!settings_.hosts.empty()) share_memory();
  if (settings_.sums_by_host && !settings_.hosts.empty()) hierarchical_sum_.emplace(settings_.hosts, rank());
  if (settings_.part > 0) return;
  const std::set<int> hosts(settings_.hosts.begin(), settings_.hosts.end());
  chunk_sizes_ = agree_on_chunk_sizes(
      size(), hosts.empty() ? size() : static_cast<int>(hosts.size()),
      [this](Slice values) {
        OneSum alone(values);
        sum_by_messages(alone, team_of({}));
      },
      [this](double mine) { return largest(mine, all_); });
}

// Reserved memory costs nothing until it is used. So a job allocates none later, whichever slots its first sums use.
void MessageWire::prepare_slots() {
  const auto others = static_cast<std::size_t>(size() - 1);
  for (Slot& slot : slots_)
    for (Stage& stage : slot.stages) {
      stage.requests.reserve(2 * others);
      stage.received.reserve(fast_link_chunks().part * others);
    }
}

void MessageWire::share_memory() {
  const auto host_of = [&](int each) { return settings_.hosts[static_cast<std::size_t>(each)]; };
  std::ranges::copy_if(all_, std::back_inserter(of_host_), [&](int each) { return host_of(each) == host_of(rank()); });
  const auto place = static_cast<int>(std::ranges::find(of_host_, rank()) - of_host_.begin()),
             ranks = static_cast<int>(of_host_.size());
  memory_ = share_memory_of_host(SharedMemorySum::bytes_for(ranks));
  // share_memory_of_host is collective, so it is called in any case: ranks may have been given different transports.
  if (!settings_.sums_by_host) memory_.reset();
  if (!memory_) return;
  shared_memory_sum_.emplace(memory_->bytes(), place, ranks, [this](bool is_first) {
    messages_->pause({});
    if (server_.poll_requests() || is_first) backoff_.reset();
    return server_.is_open() ? backoff_.delay() : kLongestWait;
  });
}

// Collective among the ranks of this host. The first of them makes the memory. All of them get nullptr if the host has
// only one rank, or if one of them cannot get the memory. Ranks in separate containers cannot.
std::unique_ptr<SharedMemory> MessageWire::share_memory_of_host(std::size_t bytes) {
  if (of_host_.size() == 1) return nullptr;
  std::array<char, 64> address{};
  const bool is_first = rank() == of_host_.front();
  std::unique_ptr<SharedMemory> memory = is_first ? SharedMemory::create(bytes) : nullptr;
  if (memory) memory->address().copy(address.data(), address.size() - 1);
  carry_from_first(std::as_writable_bytes(std::span(address)), of_host_);
  if (!is_first) memory = SharedMemory::open(address.data(), bytes);
  return largest(memory ? 0 : 1, of_host_) > 0 ? nullptr : std::move(memory);
}

void MessageWire::carry_from_first(Bytes bytes, std::span<const int> ranks) {
  Requests requests;
  {
    const std::lock_guard lock(messages_->mutex());
    if (rank() != ranks.front()) receive(bytes, ranks.front(), kFromFirst, requests);
    for (const int peer : ranks)
      if (rank() == ranks.front() && peer != rank()) send(bytes, peer, kFromFirst, requests);
  }
  wait_for(requests);
}

// Collective among `ranks`: the largest number that one of them passes.
double MessageWire::largest(double mine, std::span<const int> ranks) {
  std::vector<double> all(ranks.size(), mine);
  Requests requests;
  {
    const std::lock_guard lock(messages_->mutex());
    if (rank() != ranks.front()) send(std::as_bytes(std::span(&mine, 1)), ranks.front(), kToFirst, requests);
    for (std::size_t place = 1; place < ranks.size() && rank() == ranks.front(); ++place)
      receive(std::as_writable_bytes(std::span(&all[place], 1)), ranks[place], kToFirst, requests);
  }
  wait_for(requests);
  double most = std::ranges::max(all);
  carry_from_first(std::as_writable_bytes(std::span(&most, 1)), ranks);
  return most;
}

MessageWire::Team MessageWire::team_of(std::span<const int> ranks) const {
  if (ranks.empty()) ranks = all_;
  const auto place = static_cast<int>(std::ranges::find(ranks, rank()) - ranks.begin());
  return {ranks, place, static_cast<int>(ranks.size())};
}

// A segment begins a phase as soon as the messages of its previous phase have come. In each phase, segments keep their
// order. So a late phase of one segment never waits for an early phase of another.
template <class... Phases>
void MessageWire::in_segments(SumQueue& queue, int parts, Phases... phases) {
  constexpr std::size_t count = sizeof...(Phases);
  const std::size_t length = chunk_sizes_.part * static_cast<std::size_t>(parts),
                    most =
                        std::clamp(2 * chunk_sizes_.in_flight_bytes / (length * sizeof(float)), std::size_t{2}, kSlots);
  // begun[k]: how many segments have begun phase k. The last entry counts the segments that have ended.
  std::array<std::size_t, count + 1> begun{};
  const auto slot_of = [&](std::size_t number) -> Slot& { return slots_[number % kSlots]; };
  const auto begin = [&](std::size_t phase) {
    Slot& slot = slot_of(begun[phase]++);
    std::size_t each = 0;
    ((each++ == phase ? phases(slot.segment, slot) : void()), ...);
  };
  std::optional<Slice> rest;
  const auto take = [&] {
    if (begun.front() - begun.back() == most || (!rest && !(rest = queue.next()))) return false;
    Slot& slot = slot_of(begun.front());
    slot.segment = rest->first(std::min(length, rest->size()));
    *rest = rest->subspan(slot.segment.size());
    slot.ends_sum = rest->empty();
    if (slot.ends_sum) rest.reset();
    begin(0);
    return true;
  };
  const HeldSends held(*messages_);
  backoff_.reset();
  for (bool has_napped = false;;) {
    bool moved = take();
    std::int64_t ended = 0;  // phases of segments
    if (begun.back() == begun.front()) return;
    for (std::size_t phase = count; phase-- > 0;) {  // the last phase first: it frees slots
      if (begun[phase + 1] == begun[phase]) continue;
      Slot& slot = slot_of(begun[phase + 1]);
      moved |= messages_->advance(slot[phase].requests);
      if (!slot[phase].requests.empty()) continue;
      moved = true;
      ++ended;
      if (phase + 1 < count) {
        begin(phase + 1);
        continue;
      }
      ++begun.back();
      if (slot.ends_sum) queue.done();
    }
    if (ended > 0) backoff_.event(ended);
    has_napped = !server_.poll_requests() && !moved && pause_for(begun.front() - begun.back(), !has_napped);
  }
}

void MessageWire::all_reduce_sum(Slice values, std::span<const int> ranks) {
  const Team team = team_of(ranks);
  if (team.size() == 1) return;
  OneSum alone(values);
  if (hierarchical_sum_ && hierarchical_sum_->arrange(team.ranks)) return sum_by_host(alone);
  if (shared_memory_sum_ && std::ranges::equal(team.ranks, of_host_)) return sum_on_host(values);
  sum_by_messages(alone, team);
}

void MessageWire::all_reduce_sums(SumQueue& queue) {
  if (hierarchical_sum_ && hierarchical_sum_->arrange(all_)) return sum_by_host(queue);
  if (shared_memory_sum_ && of_host_.size() == all_.size()) return Wire::all_reduce_sums(queue);
  sum_by_messages(queue, team_of({}));
}

void MessageWire::sum_on_host(Slice values) {
  for (std::size_t number = 0; number < lent_.size(); ++number) {
    const Lent& lent = lent_[number];
    const float* const begin = lent.mine.data();
    if (values.data() < begin || values.data() + values.size() > begin + lent.mine.size()) continue;
    const auto at = static_cast<std::uint64_t>(values.data() - begin) * lent_.size() + number;
    return shared_memory_sum_->sum_in_place(values, static_cast<std::ptrdiff_t>(lent.stride), at);
  }
  shared_memory_sum_->all_reduce_sum(values);
}

Slice MessageWire::lend(std::size_t size) {
  if (!shared_memory_sum_ || of_host_.size() != all_.size() || size == 0) return {};
  constexpr std::size_t kPage = 4096 / sizeof(float);
  const std::size_t ranks = all_.size(), stride = (size + kPage - 1) / kPage * kPage;
  std::unique_ptr<SharedMemory> memory = share_memory_of_host(ranks * stride * sizeof(float));
  if (!memory) return {};
  auto* const values = reinterpret_cast<float*>(memory->bytes().data());
  const Slice mine{values + static_cast<std::size_t>(rank()) * stride, size};
  lent_.push_back({std::move(memory), mine, stride});
  bytes_of_others_ += part_of(mine, rank(), this->size()).size_bytes() * (ranks - 1);
  return mine;
}

void MessageWire::sum_by_messages(SumQueue& queue, const Team& team) {
  in_segments(
      queue, team.size(), [&](Slice segment, Slot& slot) { scatter(segment, team, slot[0]); },
      [&](Slice segment, Slot& slot) {
        sum(segment, team, slot[0]);
        gather(segment, team, -1, slot[1]);
      });
}

void MessageWire::sum_by_host(SumQueue& queue) {
  Team within = team_of(hierarchical_sum_->within());
  within.owners = hierarchical_sum_->owners();
  const Team across = within.owns() ? team_of(hierarchical_sum_->across()) : Team{};
  const auto mine = [&](Slice segment) { return part_of(segment, within.place, within.owners); };
  in_segments(
      queue, within.owners * hierarchical_sum_->hosts(),
      [&](Slice segment, Slot& slot) { scatter(segment, within, slot[0]); },
      [&](Slice segment, Slot& slot) {
        if (!within.owns()) return;
        sum(segment, within, slot[0]);
        scatter(mine(segment), across, slot[1]);
      },
      [&](Slice segment, Slot& slot) {
        if (!within.owns()) return;
        sum(mine(segment), across, slot[1]);
        gather(mine(segment), across, -1, slot[2]);
      },
      [&](Slice segment, Slot& slot) { gather(segment, within, -1, slot[3]); });
}

void MessageWire::sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) {
  compressed_.run(values, ranks, compression);
}

void MessageWire::broadcast(Slice values, int root) {
  const Team team = team_of({});
  OneSum alone(values);
  in_segments(
      alone, team.size(), [&](Slice segment, Slot& slot) { hand_out(segment, team, root, slot[0]); },
      [&](Slice segment, Slot& slot) { gather(segment, team, root, slot[1]); });
}

// The root sends every rank its part.
void MessageWire::hand_out(Slice segment, const Team& team, int root, Stage& stage) {
  const auto part = [&](int place) { return part_of(segment, place, team.size()); };
  const std::lock_guard lock(messages_->mutex());
  if (rank() != root) return receive(std::as_writable_bytes(part(rank())), root, kScatter, stage.requests);
  for (int peer : team.ranks)
    if (peer != root) send(std::as_bytes(part(peer)), peer, kScatter, stage.requests);
}

// Sends every owner its part of this rank's segment. Receives the other ranks' shares of this rank's part, one behind
// the other.
void MessageWire::scatter(Slice segment, const Team& team, Stage& stage) {
  const std::size_t mine = team.owns() ? part_of(segment, team.place, team.owners).size() : 0;
  std::vector<float>& received = stage.received;
  received.resize(std::max(received.size(), mine * static_cast<std::size_t>(team.size() - 1)));
  const std::lock_guard lock(messages_->mutex());
  std::size_t at = 0;
  for (int peer : team.ranks) {
    if (peer == rank()) continue;
    receive(std::as_writable_bytes(Slice(received).subspan(at, mine)), peer, kScatter, stage.requests);
    at += mine;
  }
  for (int step = 1; step < team.size(); ++step) {  // starts behind its own place, so that not all send to rank 0 first
    const int place = (team.place + step) % team.size();
    if (place >= team.owners) continue;
    send(std::as_bytes(part_of(segment, place, team.owners)), team.rank_at(place), kScatter, stage.requests);
  }
}

// Adds up in the order of places: ((x0 + x1) + x2) + …. So this rank's part is added at its place, not first.
void MessageWire::sum(Slice segment, const Team& team, Stage& stage) {
  const Slice mine = part_of(segment, team.place, team.owners);
  const auto row = [&](int number) { return stage.received.data() + static_cast<std::size_t>(number) * mine.size(); };
  for (int number = 1; number < team.place; ++number) add(row(number), row(0), mine.size());
  if (team.place > 0) add(row(0), mine.data(), mine.size());
  for (int number = team.place; number < team.size() - 1; ++number) add(row(number), mine.data(), mine.size());
}

// Owners send their part to all, and every rank receives the parts of the others in place. The rank at place `root` has
// all parts already; -1: no rank has.
void MessageWire::gather(Slice segment, const Team& team, int root, Stage& stage) {
  const auto part = [&](int place) { return part_of(segment, place, team.owners); };
  const std::lock_guard lock(messages_->mutex());
  for (int place = 0; place < team.owners && team.place != root; ++place)
    if (place != team.place) receive(std::as_writable_bytes(part(place)), team.rank_at(place), kGather, stage.requests);
  if (!team.owns()) return;
  for (int step = 1; step < team.size(); ++step) {
    const int place = (team.place + step) % team.size();
    if (place != root) send(std::as_bytes(part(team.place)), team.rank_at(place), kGather, stage.requests);
  }
}

void MessageWire::start(std::size_t number, const ByteExchange& exchange) {
  if (exchanges_.size() <= number) exchanges_.resize(number + 1);
  const Team team = team_of(exchange.ranks);
  const auto at = [](int place) { return static_cast<std::size_t>(place); };
  const std::lock_guard lock(messages_->mutex());
  for (int place = 0; place < team.size(); ++place)
    if (place != team.place) receive(exchange.incoming[at(place)], team.rank_at(place), kExchange, exchanges_[number]);
  for (int step = 1; step < team.size(); ++step) {
    const int place = (team.place + step) % team.size();
    send(exchange.outgoing[at(place)], team.rank_at(place), kExchange, exchanges_[number]);
  }
}

// After the exchange of texts, all ranks are through with their old parts.
std::unique_ptr<Wire> MessageWire::split(int part) {
  const std::vector<std::string> parts = texts(std::to_string(part), TextRoute::kAllToAll);
  std::unique_ptr<Messages> messages = messages_->split(part);
  if (!messages) return nullptr;
  MessageWireSettings settings = settings_;
  settings.control = nullptr;
  settings.hosts.clear();
  for (std::size_t peer = 0; peer < settings_.hosts.size(); ++peer)
    if (parts[peer] == std::to_string(part)) settings.hosts.push_back(settings_.hosts[peer]);
  return std::make_unique<MessageWire>(std::move(messages), std::move(settings));
}

// A rank that calls serve has no request open. After the first exchange of texts, no request is left for the former
// services. After the second, every new service is open.
void MessageWire::serve(Service* service) {
  texts({}, TextRoute::kAllToAll);
  server_.close();
  if (service) server_.open(service);
  const std::vector<std::string> serving = texts(service ? "serves" : "", TextRoute::kAllToAll);
  serving_.assign(serving.size(), false);
  for (std::size_t peer = 0; peer < serving.size(); ++peer) serving_[peer] = !serving[peer].empty();
}

void MessageWire::request(std::span<const ServiceRequest> requests) {
  for (const ServiceRequest& each : requests)
    EAVE_CHECK(!serving_.empty() && serving_[static_cast<std::size_t>(each.owner)],
               "rank " + std::to_string(each.owner) + " answers no requests");
  requester_.carry_out(requests, backoff_);
}

std::optional<std::chrono::nanoseconds> MessageWire::poll_requests() {
  if (!server_.is_open()) return std::nullopt;
  messages_->pause({});
  if (!server_.poll_requests()) return pause_length();
  backoff_.reset();
  return std::chrono::nanoseconds(0);
}

void MessageWire::send(ConstBytes bytes, int to, int tag, Requests& requests) {
  if (!bytes.empty()) messages_->send(bytes, to, tag, requests);
}

void MessageWire::receive(Bytes bytes, int from, int tag, Requests& requests) {
  if (!bytes.empty()) messages_->receive(bytes, from, tag, requests);
}

void MessageWire::wait_for(Requests& requests) {
  if (!requests.empty()) backoff_.reset();
  while (!requests.empty()) wait_after(messages_->advance(requests));
}

void MessageWire::wait_after(bool moved) {
  if (server_.poll_requests() || moved) return backoff_.event();
  messages_->pause(pause_length());
}

// If messages end pauses, each of them would wake this thread. So on a slow link the first pause is a nap, in which
// several messages come. Returns whether it was a nap. If at most three segments are in flight, the link could be idle
// during a nap.
bool MessageWire::pause_for(std::size_t segments, bool may_nap) {
  const auto under_way = chunk_sizes_.link_is_slow && segments > 3 ? static_cast<std::int64_t>(segments - 2) : 1;
  if (messages_->ends_pauses() && under_way > 1 && may_nap) {
    messages_->pause({});  // messages that are held leave
    std::this_thread::sleep_for(backoff_.pace(under_way));
    messages_->pause({});
    return true;
  }
  messages_->pause(messages_->ends_pauses() ? kLongestWait : backoff_.delay(under_way));
  return false;
}

std::chrono::nanoseconds MessageWire::pause_length() const {
  return messages_->ends_pauses() ? kLongestWait : backoff_.delay();
}

}  // namespace eave
