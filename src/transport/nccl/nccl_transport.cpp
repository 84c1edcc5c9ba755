// Sums and broadcasts on GPUs by NCCL, in front of a transport that does all else.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device_collectives.h"
#include "eave/agreement.h"
#include "eave/decorators.h"
#include "eave/transport.h"
#include "transport/core/transport_base.h"
#include "transport/decorators/forwarding.h"
#include "transport/nccl/nccl_calls.h"
#include "transport/nccl/nccl_operation.h"
#include "transport/nccl/nccl_support.h"

namespace eave {
namespace {

class NcclTransport final : public ForwardingTransport {
 public:
  NcclTransport(Transport& inner, NcclUse use, std::function<void(const std::string&)> warn)
      : ForwardingTransport(inner), use_(use), warn_(std::move(warn)) {
    if (size() > 1) calls_ = std::make_unique<NcclCalls>(size());
  }
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;
  ~NcclTransport() override {
    if (device_) detach();
  }

  std::string name() const override { return use_ == NcclUse::kRequired || collectives_ ? "nccl" : inner_.name(); }
  void attach(Device& device) override;
  void detach() noexcept override;

  Pending all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) override;
  Pending broadcast(Slice values, int root) override;
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override;
  Slice lend(std::size_t) override { return {}; }
  Pending request(std::span<const ServiceRequest> requests) override;
  std::shared_ptr<const CallRecord> device_calls() const override { return calls_ ? calls_->record() : nullptr; }

 private:
  struct Group {
    std::vector<int> ranks;
    int number;  // in the device's collective library
  };

  bool is_here(ConstSlice values) const { return collectives_ && device_->holds(values); }
  NcclObstacle find_obstacle(const Device& device);
  void meet(const NcclObstacle& obstacle);
  void set_up(CollectiveDevice& device);
  Pending sum_of_pair(Slice values, std::span<const int> ranks);
  int group_of(std::span<const int> ranks);
  std::string share_word(std::span<const int> ranks);
  NcclOperation& take();
  template <class Launch>
  Pending set_out(const Operation::Request& request, const Launch& launch);
  Pending sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression);
  void wait_for_requests();

  const NcclUse use_;
  std::function<void(const std::string&)> warn_;  // empty once it was called
  Device* device_ = nullptr;
  std::unique_ptr<NcclCalls> calls_;  // set if there are several ranks
  std::unique_ptr<DeviceCollectives> collectives_;
  int all_ = 0;                // number of the group of all ranks
  std::vector<Group> groups_;  // other groups of more than two ranks, made at their first sum
  std::vector<std::shared_ptr<NcclOperation>> operations_;
  std::shared_ptr<NcclOperation> last_;
  Operation* requested_ = nullptr;  // owned by `inner_`
};

// If a rank has an NCCL that is found and does not fit, collective_library_of throws and the job ends, even if the sums
// could go through host memory instead. That way is many times slower, and nobody would see why.
NcclObstacle NcclTransport::find_obstacle(const Device& device) {
  NcclPlace own;
  agree(inner_, [&] {
    own = place_of(device);
    own.library = collective_library_of(device);
  });
  std::vector<NcclPlace> places;
  for (const std::string& text : inner_.all_gather(pack(own))) places.push_back(unpack_place(text));
  return find_nccl_obstacle(places);
}

void NcclTransport::meet(const NcclObstacle& obstacle) {
  const std::string remedy = obstacle.remedy.empty() ? "" : "; " + obstacle.remedy;
  if (use_ == NcclUse::kRequired)
    throw AgreedError(obstacle.code, "--transport nccl " + obstacle.reason +
                                         (remedy.empty() ? "; use" : remedy + ", or use") + " --transport mpi");
  if (rank() != 0 || !warn_) return;
  const std::string name = inner_.name();
  std::exchange(warn_, nullptr)("GPUs exchange by " + name + " instead of NCCL, which is slower: NCCL " +
                                obstacle.reason + remedy + ". No warning comes if the transport " + name +
                                " is asked for by name instead of auto");
}

void NcclTransport::attach(Device& device) {
  const bool is_needed = use_ == NcclUse::kRequired || size() > 1;
  const NcclObstacle obstacle = is_needed ? find_obstacle(device) : NcclObstacle();
  if (!obstacle.reason.empty()) meet(obstacle);
  inner_.attach(device);  // it carries out requests
  device_ = &device;
  if (!obstacle.reason.empty() || !is_needed) return;
  try {
    set_up(dynamic_cast<CollectiveDevice&>(device));
  } catch (...) {
    detach();
    throw;
  }
}

void NcclTransport::set_up(CollectiveDevice& device) {
  std::string word;
  agree(inner_, [&] {
    collectives_ = device.make_collectives();
    if (rank() == 0) word = collectives_->make_word();
  });
  word = inner_.broadcast_text(word);
  agree(inner_, [&] {
    all_ = collectives_->join(word, rank(), size());
    if (calls_) calls_->start();
  });
}

void NcclTransport::detach() noexcept {
  for (const auto& each : operations_) each->wait_until_done();
  if (calls_) calls_->stop();
  last_.reset();
  requested_ = nullptr;
  operations_.clear();
  groups_.clear();
  collectives_.reset();
  device_ = nullptr;
  inner_.detach();
}

Pending NcclTransport::all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) {
  check_group(ranks, rank(), size());
  if (!is_here(values)) return inner_.all_reduce_sum(values, ranks, compression);
  if (compression.codec) return sum_compressed(values, ranks, compression);
  if (ranks.size() == 1) return {};
  if (ranks.size() == 2 && size() > 2) return sum_of_pair(values, ranks);
  const int group = group_of(ranks);
  return set_out({.verb = Operation::Verb::kAllReduceSum, .values = values, .ranks = ranks},
                 [&](DeviceTicket& ticket) { collectives_->all_reduce_sum(group, values, ticket); });
}

// A group in NCCL takes memory of the GPU for as long as it lives, and with `gossip` a rank pairs with all others in
// turn.
Pending NcclTransport::sum_of_pair(Slice values, std::span<const int> ranks) {
  const int other = ranks.front() == rank() ? ranks.back() : ranks.front();
  collectives_->prepare_pair(all_, other);  // before the call begins in the record, since it waits for this rank's GPU
  return set_out({.verb = Operation::Verb::kAllReduceSum, .values = values, .ranks = ranks},
                 [&](DeviceTicket& ticket) { collectives_->sum_with(all_, other, values, ticket); });
}

Pending NcclTransport::broadcast(Slice values, int root) {
  EAVE_CHECK(root >= 0 && root < size(), "root " + std::to_string(root) + " of " + std::to_string(size()) + " ranks");
  if (!is_here(values)) return inner_.broadcast(values, root);
  return set_out({.verb = Operation::Verb::kBroadcast, .values = values, .root = root},
                 [&](DeviceTicket& ticket) { collectives_->broadcast(all_, values, root, ticket); });
}

// Texts do not pass through the device's queue, but must follow the operations that were called before.
std::vector<std::string> NcclTransport::texts(const std::string& mine, TextRoute route) {
  for (const auto& each : operations_) each->wait_until_done();
  if (collectives_) collectives_->check();
  return inner_.texts(mine, route);
}

Pending NcclTransport::request(std::span<const ServiceRequest> requests) {
  const bool any_here = std::ranges::any_of(requests, [this](const auto& each) { return is_here(each.values); });
  // StagedWire::grow waits for the device. After this line, that includes all sums.
  if (any_here && last_) last_->wait();
  Pending pending = inner_.request(requests);
  if (any_here) requested_ = pending.operation();
  return pending;
}

// The host encodes, and adds up in rank order.
Pending NcclTransport::sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) {
  if (last_) last_->wait();
  Pending pending = inner_.all_reduce_sum(values, ranks, compression);
  requested_ = pending.operation();
  return pending;
}

// Requests in flight may use the values of the next sum.
void NcclTransport::wait_for_requests() {
  if (requested_) requested_->wait_until_done();
  requested_ = nullptr;
}

int NcclTransport::group_of(std::span<const int> ranks) {
  if (ranks.empty() || std::ssize(ranks) == size()) return all_;
  const auto known =
      std::ranges::find_if(groups_, [&](const Group& each) { return std::ranges::equal(each.ranks, ranks); });
  if (known != groups_.end()) return known->number;
  const int place = static_cast<int>(std::ranges::lower_bound(ranks, rank()) - ranks.begin());
  const int number = collectives_->join(share_word(ranks), place, static_cast<int>(ranks.size()));
  groups_.push_back({std::vector<int>(ranks.begin(), ranks.end()), number});
  return number;
}

// Shares the word that NCCL needs to set up a group. The first rank of the group makes it. The group sums it, as one
// number per byte to which the others add nothing: a sum is all that a group can do without the other ranks. The number
// in front says whether the first rank could make the word.
std::string NcclTransport::share_word(std::span<const int> ranks) {
  std::array<float, 2 + DeviceCollectives::kLongestWord> numbers{};
  std::exception_ptr failure;
  if (rank() == ranks.front()) try {
      const std::string word = collectives_->make_word();
      EAVE_CHECK(word.size() <= DeviceCollectives::kLongestWord, "a word of " + std::to_string(word.size()) + " bytes");
      numbers[0] = 1;
      numbers[1] = static_cast<float>(word.size());
      std::ranges::transform(word, numbers.begin() + 2, [](char byte) { return static_cast<unsigned char>(byte); });
    } catch (...) {
      failure = std::current_exception();
    }
  inner_.all_reduce_sum(numbers, ranks).wait();
  if (failure) std::rethrow_exception(failure);
  if (numbers[0] != 1)
    throw Error(ExitCode::kPeerLost,
                "rank " + std::to_string(ranks.front()) + " could not set up NCCL; see its message");
  std::string word(static_cast<std::size_t>(numbers[1]), '\0');
  std::transform(numbers.begin() + 2, numbers.begin() + 2 + std::ssize(word), word.begin(),
                 [](float number) { return static_cast<char>(static_cast<unsigned char>(number)); });
  return word;
}

NcclOperation& NcclTransport::take() {
  wait_for_requests();
  for (const std::shared_ptr<NcclOperation>& each : operations_) {
    if (!each->is_spare()) continue;
    last_ = each;
    return *each;
  }
  last_ = operations_.emplace_back(std::make_shared<NcclOperation>(*collectives_));
  return *last_;
}

// `launch` hands the operation to the device, with a ticket. That may block: then the record of calls shows for how
// long.
template <class Launch>
Pending NcclTransport::set_out(const Operation::Request& request, const Launch& launch) {
  NcclOperation& operation = take();
  if (calls_) calls_->prepare(request, operation.ticket());
  try {
    launch(operation.ticket());
  } catch (...) {
    if (calls_) calls_->cancel();
    throw;
  }
  if (calls_) calls_->set_out();
  operation.set_out(request);
  return Pending(last_);
}

}  // namespace

std::unique_ptr<Transport> make_nccl_transport(Transport& inner, NcclUse use,
                                               std::function<void(const std::string&)> warn) {
  return std::make_unique<NcclTransport>(inner, use, std::move(warn));
}

bool tries_nccl(const std::string& asked_for, const std::string& transport) {
  return asked_for == "auto" && (transport == "mpi" || transport == "tcp");
}

}  // namespace eave
