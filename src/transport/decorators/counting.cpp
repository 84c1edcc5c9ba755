// The decorator `counting`: counts calls, bytes and seconds of the transport behind it.
#include <cmath>
#include <mutex>

#include "base/trace_buffer.h"
#include "eave/decorators.h"
#include "eave/transport.h"
#include "transport/core/operation.h"
#include "transport/core/transport_base.h"
#include "transport/decorators/forwarding.h"

namespace eave {
namespace {

// The counters. Operations in flight share them, because they may outlive the transport.
class Tally final : public OperationObserver {
 public:
  Tally(int rank, int size, TraceBuffer* trace) : rank_(rank), size_(size), trace_(trace) {}
  void called(double bytes) {
    const std::lock_guard lock(mutex_);
    ++counters_.calls;
    counters_.bytes += std::llround(bytes);
  }
  void replied(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    counters_.bytes += bytes;
    counters_.bytes_replied += bytes;
  }
  void finished(const Operation& operation, double seconds) noexcept override {
    const std::lock_guard lock(mutex_);
    counters_.seconds += seconds;
    if (trace_) keep(kind_of(operation.request()), bytes_of(operation.request()), seconds);
  }
  void gathered(double bytes, double seconds) noexcept {
    const std::lock_guard lock(mutex_);
    counters_.seconds += seconds;
    if (trace_) keep(SpanKind::kGather, bytes, seconds);
  }
  double bytes_of(const Operation::Request& request) const noexcept {
    switch (request.verb) {
      case Operation::Verb::kAllReduceSum:
        return all_reduce_wire_bytes(request.values.size(),
                                     request.ranks.empty() ? size_ : static_cast<int>(request.ranks.size()),
                                     request.compression.codec);
      case Operation::Verb::kBroadcast:
        return broadcast_wire_bytes(request.values.size(), size_);
      default:
        return bytes_to_others(request.requests);
    }
  }
  double bytes_to_others(std::span<const ServiceRequest> requests) const noexcept {
    std::size_t bytes = 0;
    for (const ServiceRequest& each : requests)
      if (each.owner != rank_) bytes += each.values.size_bytes();
    return static_cast<double>(bytes);
  }
  TransportCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  static SpanKind kind_of(const Operation::Request& request) noexcept {
    switch (request.verb) {
      case Operation::Verb::kAllReduceSum:
        return SpanKind::kSum;
      case Operation::Verb::kBroadcast:
        return SpanKind::kBroadcast;
      default:
        return SpanKind::kRequest;
    }
  }
  void keep(SpanKind kind, double bytes, double seconds) noexcept {
    const std::int64_t end = steady_nanoseconds();
    trace_->add({end - std::llround(1e9 * seconds), end, std::llround(bytes), kind});
  }

  const int rank_, size_;
  TraceBuffer* const trace_;
  mutable std::mutex mutex_;
  TransportCounters counters_;
};

// Stands in front of an owner's service and counts its replies.
class CountingService final : public Service {
 public:
  CountingService(Service& inner, int rank, Tally& tally) : inner_(inner), rank_(rank), tally_(tally) {}
  bool answer(int from, std::int64_t key, Slice values) override {
    if (!inner_.answer(from, key, values)) return false;
    if (from != rank_) tally_.replied(static_cast<std::int64_t>(values.size_bytes()));
    return true;
  }

 private:
  Service& inner_;
  const int rank_;
  Tally& tally_;
};

class Counting final : public Forwarding<CountingTransport> {
 public:
  Counting(Transport& inner, TraceBuffer* trace)
      : Forwarding(inner), tally_(std::make_shared<Tally>(inner.rank(), inner.size(), trace)) {}
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  ~Counting() override {
    if (service_) inner_.withdraw();
  }
  std::string name() const override { return "counting(" + inner_.name() + ")"; }

  Pending all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) override {
    return count(
        inner_.all_reduce_sum(values, ranks, compression),
        {.verb = Operation::Verb::kAllReduceSum, .values = values, .ranks = ranks, .compression = compression});
  }
  Pending broadcast(Slice values, int root) override {
    return count(inner_.broadcast(values, root), {.verb = Operation::Verb::kBroadcast, .values = values});
  }
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override {
    const SteadyClock::time_point start = SteadyClock::now();
    std::vector<std::string> all = inner_.texts(mine, route);
    const std::size_t length = route == TextRoute::kFirstToAll ? all.front().size() : mine.size();
    const double bytes = text_wire_bytes(length, rank(), size(), route);
    tally_->called(bytes);
    tally_->gathered(bytes, seconds_between(start, SteadyClock::now()));
    return all;
  }
  void serve(Service* service) override {
    std::unique_ptr<CountingService> next;
    if (service) next = std::make_unique<CountingService>(*service, rank(), *tally_);
    inner_.serve(next.get());
    service_ = std::move(next);  // the previous service was in use until now
  }
  Pending request(std::span<const ServiceRequest> requests) override {
    return count(inner_.request(requests), {.verb = Operation::Verb::kRequest, .requests = requests});
  }
  TransportCounters counters() const override { return tally_->counters(); }

 private:
  Pending count(Pending pending, const Operation::Request& request) {
    tally_->called(tally_->bytes_of(request));
    if (Operation* operation = pending.operation()) operation->observe(tally_);
    return pending;
  }

  std::shared_ptr<Tally> tally_;
  std::unique_ptr<CountingService> service_;
};

}  // namespace

std::unique_ptr<CountingTransport> make_counting_transport(Transport& inner, TraceBuffer* trace) {
  return std::make_unique<Counting>(inner, trace);
}

}  // namespace eave
