// From gradients to a step: optimizer and learning rate.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eave/device.h"
#include "eave/options.h"
#include "eave/slice.h"

namespace eave {

// Turns gradients into a change of parameters, in one pass over the arena, elastic pull included. The same inputs give
// the same bits on every x86-64.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // One step: call it once per step with the whole arena. `parameters`, `gradients` and the pull's slices are as large
  // as the arena given to make and do not overlap. Gradients are read only. Not collective. Returns whether every
  // element took its step: one whose new values would not be finite keeps the old ones (see Device::update_sgd).
  virtual std::shared_ptr<DeviceAnswer> update(Slice parameters, ConstSlice gradients, double learning_rate,
                                               const std::optional<Pull>& pull) = 0;
  // How parameters stand to the iterate when the rate is `learning_rate`; the velocity is the same memory at all times.
  virtual Ahead ahead(double /*learning_rate*/) { return {}; }
  // Its state vectors (momentum first), for exchanges and checkpoints; each as large as the arena.
  virtual std::vector<Slice> state() = 0;
  // Number of updates done, where the rule depends on it (bias correction); kept in checkpoints with state().
  virtual std::int64_t* update_count() { return nullptr; }
  // The formula in force with its numbers, one line of ASCII.
  virtual std::string equation() const = 0;
};

// A member of the optimizer family: one file in src/optim and one word in its CMake list.
struct OptimizerKind {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  // --lr and all else about the rate belong to Schedule
  // Its state lies on `device`, which outlives it. Throws Error(kUsage) for options out of range or without effect.
  // `values` holds `options` and those of Schedule.
  std::unique_ptr<Optimizer> (*make)(const OptionValues& values, std::int64_t arena_size, Device& device);
};

const std::vector<OptimizerKind>& optimizer_kinds();

// Of a replica whose communicator moves the parameters itself (CommunicatorTraits::uses_optimizer): keeps nothing, and
// update throws Error(kInternal).
std::unique_ptr<Optimizer> make_idle_optimizer();

// Learning rate as a function of samples seen by all ranks together, so epoch n has the same rate for every rank count.
// Scaling (Goyal et al. 2017): the base rate is multiplied by k (linear) or √k, k = total batch / batch per rank, for
// methods that average gradients; warm-up goes from the base rate to the scaled one by a constant amount per sample.
class Schedule {
 public:
  // Declares --lr, --lr-schedule constant|step|cosine, --lr-step-epochs, --lr-step-factor, --lr-final,
  // --lr-scaling none|linear|sqrt, --warmup-epochs, --warmup-from.
  static std::vector<OptionSpec> options();
  // `scale` = k as above; 0 where rates do not scale with the ranks (the method does not average gradients): then a
  // --lr-scaling other than none is refused. Throws Error(kUsage) for options that contradict each other or would have
  // no effect.
  Schedule(const OptionValues& values, std::int64_t samples_per_epoch, std::int64_t total_samples, double scale);

  // Of the step that begins after `samples_seen` samples. Warm-up first, then the shape; after total_samples it stays.
  double learning_rate(std::int64_t samples_seen) const;
  // Whether rates depend on total_samples: cosine.
  bool depends_on_length() const { return shape_ == "cosine"; }
  // From now on a step that begins after more samples than that has the rate of one that begins there.
  void hold_after(std::int64_t samples) { held_from_ = samples; }
  // How many of the schedule's steps down a step that begins after `samples_seen` samples has behind it: 0 for rates
  // that fall smoothly, or not at all, and in a warm-up.
  int drops(std::int64_t samples_seen) const;
  // One line: "0.1 x 4 (linear) = 0.4, after warm-up from 0.1 over 5 epochs; cosine to 0"
  std::string describe() const;

 private:
  void read_shape(const OptionValues& values);
  void read_warmup(const OptionValues& values);
  double shaped(double samples) const;
  double base_ = 0, scale_ = 1, peak_ = 0;
  double warmup_epochs_ = 0, warmup_rate_ = 0, warmup_samples_ = 0;
  double final_ = 0, factor_ = 1;
  double samples_per_epoch_ = 0, total_samples_ = 0;
  std::int64_t held_from_ = std::numeric_limits<std::int64_t>::max();
  std::vector<double> step_epochs_;
  std::string shape_, scaling_;
};

}  // namespace eave
