#include "transport/core/background_transport.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/thread.h"
#include "eave/agreement.h"
#include "transport/core/backoff.h"
#include "transport/core/text_routes.h"

namespace eave {

namespace {

// The argument of sched_setattr(2), which glibc does not declare.
struct SchedulerAttributes {
  std::uint32_t size = sizeof(SchedulerAttributes);
  std::uint32_t policy = 0;  // SCHED_OTHER
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

// This thread works little and often while compute threads fill the cores. A short time slice lets it run as soon as it
// wakes, instead of some ms later. Linux before 6.12 ignores the request.
void ask_for_prompt_wake_up() noexcept {
  // In nanoseconds. The default of 50 us would be added to every sleep.
  prctl(PR_SET_TIMERSLACK, 1UL);
  SchedulerAttributes attributes;
  syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0);
  attributes.runtime_ns = 100'000;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

BackgroundTransport::BackgroundTransport(std::unique_ptr<Wire> wire, CallRecord* job)
    : wire_(std::move(wire)), calls_(job), is_part_(job != nullptr) {
  if (size() == 1) return;
  if (!is_part_) own_calls_ = std::make_unique<CallRecord>(size());
  if (!is_part_) calls_ = own_calls_.get();
  thread_ = start_thread("for communication", [this] { carry_out_all(); });
}

BackgroundTransport::~BackgroundTransport() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    locked_notify();
  }
  thread_.join();
}

void BackgroundTransport::attach(Device& device) {
  const bool has_own_memory = device.kind() != DeviceKind::kCpu;
  if (size() == 1 && has_own_memory) alone_.attach(device);
  ByteExchanger* const messages = wire_->exchanger_in(device.kind());
  const std::vector<std::string> all = all_gather(messages ? "reached by messages" : has_own_memory ? "own" : "");
  const bool any_has = std::ranges::any_of(all, [](const std::string& each) { return !each.empty(); });
  const bool all_are_reached = messages && std::ranges::all_of(all, [&](const auto& each) { return each == all[0]; });
  std::unique_ptr<StagedWire> staged;
  std::unique_ptr<DirectWire> direct;
  if (size() > 1 && any_has) {
    agree(*this, [&] {
      staged = std::make_unique<StagedWire>(*wire_, device);
      if (all_are_reached) direct = std::make_unique<DirectWire>(*messages, device, rank(), size());
    });
  }
  staged_ = std::move(staged);
  direct_ = std::move(direct);
  device_ = &device;
}

void BackgroundTransport::detach() noexcept {
  device_ = nullptr;
  staged_.reset();
  direct_.reset();
  alone_.detach();
}

Pending BackgroundTransport::all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) {
  check_group(ranks, rank(), size());
  check_compression(compression, values);
  return enqueue(
      {.verb = Operation::Verb::kAllReduceSum, .values = values, .ranks = ranks, .compression = compression});
}

Pending BackgroundTransport::broadcast(Slice values, int root) {
  EAVE_CHECK(root >= 0 && root < size(), "root " + std::to_string(root) + " of " + std::to_string(size()) + " ranks");
  return enqueue({.verb = Operation::Verb::kBroadcast, .values = values, .root = root});
}

std::vector<std::string> BackgroundTransport::texts(const std::string& mine, TextRoute route) {
  if (size() == 1) return route == TextRoute::kFirstToEach ? unpack_texts(mine) : std::vector{mine};
  std::vector<std::string> all;
  enqueue({.verb = verb_of(route), .mine = &mine, .route = route, .all = &all}).wait();
  return all;
}

Slice BackgroundTransport::lend(std::size_t size) {
  Slice lent;
  if (this->size() == 1 || staged_) return lent;
  enqueue({.verb = Operation::Verb::kLend, .size = size, .lent = &lent}).wait();
  return lent;
}

std::unique_ptr<Transport> BackgroundTransport::split(int part) {
  std::unique_ptr<Wire> wire;
  if (size() == 1) {
    wire = wire_->split(part);
  } else {
    enqueue({.verb = Operation::Verb::kSplit, .part = part, .wire = &wire}).wait();
  }
  return wire ? std::make_unique<BackgroundTransport>(std::move(wire), calls_) : nullptr;
}

void BackgroundTransport::serve(Service* service) {
  if (size() == 1) return alone_.serve(service);
  enqueue({.verb = Operation::Verb::kServe, .service = service}).wait();
}

Pending BackgroundTransport::request(std::span<const ServiceRequest> requests) {
  check_owners(requests, size());
  if (size() > 1) return enqueue({.verb = Operation::Verb::kRequest, .requests = requests});
  alone_.request(requests);
  return {};
}

void BackgroundTransport::withdraw() noexcept {
  if (size() == 1) return alone_.serve(nullptr);
  wire_->withdraw();
}

Pending BackgroundTransport::enqueue(Operation::Request request) {
  if (size() == 1) return {};
  if (is_on_device(request)) {
    prepare_staging(request);
    request.mark = device_->mark();
  }
  std::shared_ptr<Operation> operation = pool_.take(request);
  const std::lock_guard lock(mutex_);
  (first_ ? last_->next : first_) = operation.get();
  last_ = operation.get();
  locked_notify();
  return Pending(std::move(operation));
}

void BackgroundTransport::locked_notify() noexcept { rests_ ? wire_->wake() : changed_.notify_one(); }

bool BackgroundTransport::is_on_device(const Operation::Request& request) const {
  if (!staged_) return false;
  return staged_->stages(request.values) ||
         std::ranges::any_of(request.requests, [&](const auto& each) { return staged_->stages(each.values); });
}

// Only the device's thread may allocate more pinned memory, and that is the caller of this function. It allocates only
// while the communication thread does not use that memory.
void BackgroundTransport::prepare_staging(const Operation::Request& request) {
  const std::size_t size = staged_->size_for(request.values, request.requests);
  if (size <= staged_->size()) return;
  enqueue({.verb = Operation::Verb::kNothing}).wait();
  staged_->grow(size);
}

// Answers requests until there is an operation, or until none will come.
void BackgroundTransport::poll_requests(std::unique_lock<std::mutex>& lock) {
  const auto called = [this] { return first_ || closing_; };
  while (!called()) {
    lock.unlock();
    const std::optional<std::chrono::nanoseconds> pause = wire_->poll_requests();
    lock.lock();
    if (!pause) return changed_.wait(lock, called);
    if (!wire_->can_rest()) {
      changed_.wait_for(lock, *pause, called);
    } else if (!called()) {
      rests_ = true;
      lock.unlock();
      wire_->rest(*pause);
      lock.lock();
      rests_ = false;
    }
  }
}

bool BackgroundTransport::begin_next(std::exception_ptr& failure) {
  std::unique_lock lock(mutex_);
  try {
    if (!failure) poll_requests(lock);
  } catch (...) {
    failure = std::current_exception();
    lock.lock();
    rests_ = false;
  }
  changed_.wait(lock, [this] { return first_ || closing_; });
  if (!first_) return false;
  begun_.push_back(std::exchange(first_, first_->next));
  begun_.front()->start();
  return true;
}

// The call record and the timer cover one operation at a time: the oldest that has not ended.
void BackgroundTransport::end_first(const std::exception_ptr& failure) {
  calls_->end();
  Operation* const first = begun_.front();
  begun_.erase(begun_.begin());
  first->finish(failure);
  if (begun_.empty() || failure) return;
  begun_.front()->start();
  record(begun_.front()->request());
}

void BackgroundTransport::carry_out_all() noexcept {
  ask_for_prompt_wake_up();
  std::exception_ptr failure;
  while (begin_next(failure)) {
    try {
      if (!failure) carry_out(*begun_.front());
    } catch (...) {
      failure = std::current_exception();
    }
    while (!begun_.empty()) end_first(failure);
  }
}

// The sum that has begun, and the sums that are queued right behind it before it ends.
class BackgroundTransport::QueuedSums final : public SumQueue {
 public:
  explicit QueuedSums(BackgroundTransport& transport) : transport_(transport), first_(transport.begun_.front()) {}

  std::optional<Slice> next() override {
    if (first_) return std::exchange(first_, nullptr)->request().values;
    if (transport_.begun_.empty()) return std::nullopt;
    const std::lock_guard lock(transport_.mutex_);
    Operation*& queue = transport_.first_;
    if (!queue || !transport_.may_follow(queue->request()) || works_on(queue->request().values)) return std::nullopt;
    transport_.begun_.push_back(std::exchange(queue, queue->next));
    return transport_.begun_.back()->request().values;
  }

  void done() override { transport_.end_first(nullptr); }

 private:
  // Whether a sum that has not ended works on any of these values. If so, the next sum has to wait for it.
  bool works_on(Slice values) const {
    return std::ranges::any_of(transport_.begun_, [&](const Operation* each) {
      const Slice other = each->request().values;
      return std::less<>()(values.data(), other.data() + other.size()) &&
             std::less<>()(other.data(), values.data() + values.size());
    });
  }

  BackgroundTransport& transport_;
  Operation* first_;  // nullptr once next() has returned it
};

// Whether the wire can begin this sum while earlier sums are still in flight.
bool BackgroundTransport::may_follow(const Operation::Request& request) const {
  return request.verb == Operation::Verb::kAllReduceSum && request.ranks.empty() && !request.compression.codec &&
         !staged_;
}

// Waits for the device, which may still have much to compute before the operation. Answers requests meanwhile.
void BackgroundTransport::await(DeviceMark& mark) {
  const Backoff backoff;
  while (!mark.reached()) {
    const std::optional<std::chrono::nanoseconds> pause = wire_->poll_requests();
    if (!pause) return mark.wait();
    std::this_thread::sleep_for(std::min(*pause, backoff.delay()));
  }
}

void BackgroundTransport::sum(const Operation::Request& request) {
  const Compression& compression = request.compression;
  if (may_follow(request)) {
    QueuedSums queue(*this);
    return wire_->all_reduce_sums(queue);
  }
  if (direct_ && direct_->carries(request.values) && !compression.codec) {
    direct_->all_reduce_sum(request.values, request.ranks);
  } else if (staged_) {
    staged_->all_reduce_sum(request.values, request.ranks, compression);
  } else if (compression.codec) {
    wire_->sum_compressed(request.values, request.ranks, compression);
  } else {
    wire_->all_reduce_sum(request.values, request.ranks);
  }
}

void BackgroundTransport::broadcast(const Operation::Request& request) {
  if (direct_ && direct_->carries(request.values)) return direct_->broadcast(request.values, request.root);
  if (staged_) return staged_->broadcast(request.values, request.root);
  wire_->broadcast(request.values, request.root);
}

void BackgroundTransport::record(const Operation::Request& request) noexcept {
  calls_->begin(request, is_part_ ? size() : 0);
}

void BackgroundTransport::carry_out(Operation& operation) {
  const Operation::Request& request = operation.request();
  if (request.mark) {
    await(*request.mark);
    // The operation's time does not include what the device had to compute first.
    operation.start();
  }
  record(request);
  switch (request.verb) {
    case Operation::Verb::kAllReduceSum:
      return sum(request);
    case Operation::Verb::kBroadcast:
      return broadcast(request);
    case Operation::Verb::kAllGather:
    case Operation::Verb::kGather:
    case Operation::Verb::kBroadcastText:
    case Operation::Verb::kScatter:
      *request.all = wire_->texts(*request.mine, request.route);
      return;
    case Operation::Verb::kLend:
      *request.lent = wire_->lend(request.size);
      return;
    case Operation::Verb::kSplit:
      *request.wire = wire_->split(request.part);
      return;
    case Operation::Verb::kServe:
      return wire_->serve(request.service);
    case Operation::Verb::kRequest:
      return staged_ ? staged_->request(request.requests) : wire_->request(request.requests);
    case Operation::Verb::kExchange:
    case Operation::Verb::kNothing:
      return;
  }
}

}  // namespace eave
