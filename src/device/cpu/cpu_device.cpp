// The CPU as a Device. It calls kernels/cpu, and Eigen where a plain expression is enough.
#include <algorithm>

#include "base/resource_limits.h"
#include "device/cpu/flat.h"
#include "eave/check.h"
#include "eave/device.h"
#include "eave/update_steps.h"
#include "kernels/cpu/center.h"
#include "kernels/cpu/update.h"

namespace eave {
namespace {

class Reached final : public DeviceMark {
 public:
  bool reached() override { return true; }
  void wait() override {}
};

class Known final : public DeviceAnswer {
 public:
  explicit Known(bool answer) : answer_(answer) {}
  bool get() override { return answer_; }

 private:
  bool answer_;
};

class CpuCopies final : public CopyQueue {
 public:
  void read(ConstSlice from, Slice host) override { flat::copy(host, from); }
  void write(Slice into, ConstSlice host) override { flat::copy(into, host); }
  void add(Slice into, ConstSlice from) override { flat::add_scaled(into, 1, from); }
  void wait() override {}
};

class CpuDevice final : public Device {
 public:
  DeviceKind kind() const override { return DeviceKind::kCpu; }
  std::string name() const override { return "cpu"; }

  Buffer allocate(std::size_t size) override { return Buffer(size); }
  Buffer allocate_for_host(std::size_t size) override { return Buffer(size); }
  bool holds(ConstSlice values) const override { return !values.empty(); }
  std::int64_t free_bytes() override { return available_memory_bytes(); }
  void read(ConstSlice from, Slice host) override { flat::copy(host, from); }
  void write(Slice into, ConstSlice host) override { flat::copy(into, host); }
  void wait() override {}
  std::shared_ptr<DeviceMark> mark() override { return reached_; }
  std::unique_ptr<CopyQueue> make_copy_queue() override { return std::make_unique<CpuCopies>(); }

  void copy(Slice into, ConstSlice from) override { flat::copy(into, from); }
  void fill(Slice values, float value) override { flat::fill(values, value); }
  void scale(Slice values, float factor) override { flat::scale(values, factor); }
  void add_scaled(Slice into, float factor, ConstSlice from) override { flat::add_scaled(into, factor, from); }
  double norm(ConstSlice values) override { return flat::norm(values); }
  double distance(ConstSlice a, ConstSlice b) override { return flat::distance(a, b); }
  std::shared_ptr<DeviceAnswer> all_finite(ConstSlice values) override { return flat::all_finite(values) ? yes_ : no_; }

  std::shared_ptr<DeviceAnswer> update_sgd(Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step,
                                           const Pull* pull) override {
    return cpu::update_sgd(parameters, gradients, velocity, step, pull) ? yes_ : no_;
  }
  std::shared_ptr<DeviceAnswer> update_adamw(Slice parameters, ConstSlice gradients, Slice first, Slice second,
                                             const AdamwStep& step, const Pull* pull) override {
    return cpu::update_adamw(parameters, gradients, first, second, step, pull) ? yes_ : no_;
  }
  void pull_parameters(Slice parameters, const Pull& pull, const Ahead& ahead) override {
    cpu::pull_parameters(parameters, pull, ahead);
  }
  void write_difference(Slice difference, ConstSlice parameters, ConstSlice center, float factor,
                        const Ahead& ahead) override {
    cpu::write_difference(difference, parameters, center, factor, ahead);
  }
  void move_center(Slice center, ConstSlice sum) override { cpu::move_center(center, sum); }
  void move_center_and_follow(Slice center, ConstSlice sum, Slice parameters, float alpha,
                              const Ahead& ahead) override {
    cpu::move_center_and_follow(center, sum, parameters, alpha, ahead);
  }
  void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step) override {
    cpu::step_outer(center, velocity, mean, step);
  }
  void move_average(Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead) override {
    cpu::move_average(average, rest, values, share, ahead);
  }
  void write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead) override {
    cpu::write_iterate(into, parameters, ahead);
  }
  void write_displacement(Slice message, ConstSlice parameters, const Ahead& ahead) override {
    cpu::write_displacement(message, parameters, ahead);
  }
  void write_parameters(Slice parameters, ConstSlice iterate, const Ahead& ahead) override {
    cpu::write_parameters(parameters, iterate, ahead);
  }
  void write_step(Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay) override {
    cpu::write_step(into, parameters, gradients, rate, decay);
  }
  void subtract(Slice parameters, ConstSlice difference) override { cpu::subtract(parameters, difference); }

 private:
  const std::shared_ptr<DeviceMark> reached_ = std::make_shared<Reached>();
  const std::shared_ptr<DeviceAnswer> yes_ = std::make_shared<Known>(true), no_ = std::make_shared<Known>(false);
};

}  // namespace

Device& cpu_device() {
  static CpuDevice device;
  return device;
}

}  // namespace eave
