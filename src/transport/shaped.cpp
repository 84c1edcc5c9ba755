// Makes the link of another transport as slow as asked for: the real operation runs, then the rest of the time is
// slept.
#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "eave/transport.h"
#include "transport/background.h"
#include "transport/wire_bytes.h"

namespace eave {
namespace {

class ShapedWire final : public Wire {
 public:
  ShapedWire(Transport& inner, LinkShape shape)
      : inner_(inner), shape_(shape), costs_(static_cast<std::size_t>(inner.size())) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return "shaped(" + inner_.name() + ")"; }
  bool reaches(DeviceKind device) const override { return inner_.reaches(device); }

  void all_reduce_sum(Slice values) override {
    const Clock::time_point end = end_of(all_reduce_wire_bytes(values.size(), size()));
    inner_.all_reduce_sum(values).wait();
    std::this_thread::sleep_until(end);
  }

  void broadcast(Slice values, int root) override {
    const Clock::time_point end = end_of(broadcast_wire_bytes(values.size(), size()));
    inner_.broadcast(values, root).wait();
    std::this_thread::sleep_until(end);
  }

  std::vector<std::string> all_gather(const std::string& mine) override {
    const Clock::time_point end = end_of(all_gather_wire_bytes(mine.size(), size()));
    std::vector<std::string> all = inner_.all_gather(mine);
    std::this_thread::sleep_until(end);
    return all;
  }

  void abort(ExitCode code) noexcept override { inner_.abort(code); }

 private:
  // Waits until all ranks have joined. They tell each other what the operation costs on their links: it ends for all
  // when it ends on the slowest.
  Clock::time_point end_of(double bytes) {
    std::ranges::fill(costs_, 0.0f);
    const double transfer = shape_.bytes_per_second > 0 ? bytes / shape_.bytes_per_second : 0;
    costs_[static_cast<std::size_t>(rank())] = static_cast<float>(shape_.delay_seconds + transfer);
    inner_.all_reduce_sum(costs_).wait();
    const std::chrono::duration<double> slowest(std::ranges::max(costs_));
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(slowest);
  }

  Transport& inner_;
  const LinkShape shape_;
  std::vector<float> costs_;
};

void check_shape(double value, const char* what) {
  if (std::isfinite(value) && value >= 0) return;
  throw Error(ExitCode::kUsage, std::string("the ") + what + " of a shaped link must be a number from 0 up, not " +
                                    std::to_string(value));
}

}  // namespace

std::unique_ptr<Transport> make_shaped_transport(Transport& inner, LinkShape shape) {
  check_shape(shape.delay_seconds, "delay");
  check_shape(shape.bytes_per_second, "rate");
  return std::make_unique<BackgroundTransport>(std::make_unique<ShapedWire>(inner, shape));
}

}  // namespace eave
