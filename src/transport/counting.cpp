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

class Counting final : public CountingTransport {
 public:
  explicit Counting(Transport& inner) : inner_(inner), tally_(std::make_shared<Tally>()) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return "counting(" + inner_.name() + ")"; }
  bool reaches(DeviceKind device) const override { return inner_.reaches(device); }

  Pending all_reduce_sum(Slice values) override {
    return count(inner_.all_reduce_sum(values), all_reduce_wire_bytes(values.size(), size()));
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
};

}  // namespace

std::unique_ptr<CountingTransport> make_counting_transport(Transport& inner) {
  return std::make_unique<Counting>(inner);
}

}  // namespace eave
