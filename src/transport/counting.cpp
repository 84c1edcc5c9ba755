// Counts what passes to another transport.
#include <cmath>
#include <mutex>

#include "eave/transport.h"
#include "transport/operation.h"
#include "transport/wire_bytes.h"

namespace eave {
namespace {

// Shared with the operations in flight, which may outlive the transport.
class Tally final : public OperationObserver {
 public:
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
  void finished(double seconds) noexcept override {
    const std::lock_guard lock(mutex_);
    counters_.seconds += seconds;
  }
  TransportCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  mutable std::mutex mutex_;
  TransportCounters counters_;
};

// Stands before an owner's service, to count its replies.
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

class Counting final : public CountingTransport {
 public:
  explicit Counting(Transport& inner) : inner_(inner), tally_(std::make_shared<Tally>()) {}
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  ~Counting() override {
    if (service_) inner_.withdraw();
  }
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return "counting(" + inner_.name() + ")"; }
  bool reaches(DeviceKind device) const override { return inner_.reaches(device); }
  void attach(Device& device) override { inner_.attach(device); }
  void detach() noexcept override { inner_.detach(); }

  Pending all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) override {
    const int size_of_group = ranks.empty() ? size() : static_cast<int>(ranks.size());
    return count(inner_.all_reduce_sum(values, ranks, compression),
                 all_reduce_wire_bytes(values.size(), size_of_group, compression.codec));
  }
  Pending broadcast(Slice values, int root) override {
    return count(inner_.broadcast(values, root), broadcast_wire_bytes(values.size(), size()));
  }
  std::vector<std::string> all_gather(const std::string& mine) override {
    const Clock::time_point start = Clock::now();
    std::vector<std::string> all = inner_.all_gather(mine);
    tally_->called(all_gather_wire_bytes(mine.size(), size()));
    tally_->finished(seconds_between(start, Clock::now()));
    return all;
  }
  void serve(Service* service) override {
    std::unique_ptr<CountingService> next;
    if (service) next = std::make_unique<CountingService>(*service, rank(), *tally_);
    inner_.serve(next.get());
    service_ = std::move(next);  // the former was called until now
  }
  Pending request(std::span<const ServiceRequest> requests) override {
    std::size_t bytes = 0;
    for (const ServiceRequest& each : requests)
      if (each.owner != rank()) bytes += each.values.size_bytes();
    return count(inner_.request(requests), static_cast<double>(bytes));
  }
  void withdraw() noexcept override { inner_.withdraw(); }
  void abort(ExitCode code) noexcept override { inner_.abort(code); }
  TransportCounters counters() const override { return tally_->counters(); }

 private:
  Pending count(Pending pending, double bytes) {
    tally_->called(bytes);
    if (Operation* operation = pending.operation()) operation->observe(tally_);
    return pending;
  }

  Transport& inner_;
  std::shared_ptr<Tally> tally_;
  std::unique_ptr<CountingService> service_;
};

}  // namespace

std::unique_ptr<CountingTransport> make_counting_transport(Transport& inner) {
  return std::make_unique<Counting>(inner);
}

}  // namespace eave
