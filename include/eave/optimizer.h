// Optimizers and the learning-rate schedule.
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
#include "eave/update_steps.h"

namespace eave {

// Updates parameters by their gradients, in one pass over the arena that includes the elastic pull. The same inputs
// give the same bits on every x86-64.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Takes one step; call it once per step with the whole arena. `parameters`, `gradients` and the pull's slices have
  // the arena_size given to `make`, and do not overlap. Gradients are only read. Not collective. Returns whether every
  // element took its step. An element whose new values would not be finite keeps the old ones (see Device::update_sgd).
  // `clip` is a factor on all gradients, applied in the same pass. If it is NaN, no element takes its step.
  virtual std::shared_ptr<DeviceAnswer> update(Slice parameters, ConstSlice gradients, double learning_rate,
                                               const std::optional<Pull>& pull, float clip = 1) = 0;
  // How far the parameters are ahead of the iterate at this learning rate. The velocity is always the same memory.
  virtual Ahead ahead(double /*learning_rate*/) { return {}; }
  // The state vectors (momentum first), for exchanges and checkpoints. Each is as large as the arena.
  virtual std::vector<Slice> state() = 0;
  // The number of updates so far, or nullptr if the formula does not depend on it (bias correction does). Checkpoints
  // keep it with state().
  virtual std::int64_t* update_count() { return nullptr; }
  // The optimizer's formula with the numbers of this run, as one line of ASCII.
  virtual std::string equation() const = 0;
};

// The arguments of OptimizerKind::make.
struct OptimizerContext {
  const OptionValues& values;  // those of the kind, and those of Schedule
  std::int64_t arena_size = 0;
  Device& device;                        // the optimizer's state lies there; it must outlive the optimizer
  std::vector<TensorInfo> tensors = {};  // those of the arena, for options that depend on shapes
  // `make` appends warnings on every rank; the caller prints them once. May be nullptr.
  std::vector<std::string>* warnings = nullptr;
};

// A member of the optimizer family: one file in src/optim and one word in its CMake list.
struct OptimizerKind {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  // without --lr and other options of the learning rate, which belong to Schedule
  // Throws Error(kUsage) if an option is out of range or has no effect.
  std::unique_ptr<Optimizer> (*make)(const OptimizerContext& context);
};

const std::vector<OptimizerKind>& optimizer_kinds();

// An optimizer without state, for a replica whose communicator moves the parameters itself (uses_optimizer in
// CommunicatorTraits is false). Its update() throws Error(kInternal).
std::unique_ptr<Optimizer> make_idle_optimizer();

// The size of each unit of a run's length, in samples of all ranks together.
struct ScheduleUnits {
  std::int64_t samples_per_step = 1;   // of all ranks; an epoch's last step may have fewer
  std::int64_t tokens_per_sample = 1;  // 0: the data has no tokens
};

// The learning rate as a function of the samples seen by all ranks together, so epoch n has the same rate for any
// number of ranks. If the method averages gradients, the base rate may be scaled (Goyal et al. 2017): by k (linear) or
// √k (sqrt), with k = total batch / batch per rank. Warm-up goes linearly, by samples, from --warmup-from times the
// base rate to the scaled rate.
class Schedule {
 public:
  // Declares --lr, --lr-schedule with the names of all shapes, --lr-step-epochs, --lr-step-factor, --lr-final,
  // --lr-scaling none|linear|sqrt, --warmup, --warmup-epochs, --warmup-from.
  static std::vector<OptionSpec> options();
  // `scale` is k as above, or 0 if the method does not average gradients. With 0, only --lr-scaling none is allowed.
  // Throws Error(kUsage) if options contradict each other or have no effect.
  Schedule(const OptionValues& values, std::int64_t samples_per_epoch, std::int64_t total_samples, double scale,
           const ScheduleUnits& units = {});

  // The learning rate of the step that begins after `samples_seen` samples: warm-up first, then the shape. A cosine
  // stays at its final rate after total_samples.
  double learning_rate(std::int64_t samples_seen) const;
  // Whether rates depend on total_samples, as those of a cosine do.
  bool depends_on_length() const;
  static bool depends_on_length(const OptionValues& values);  // the same for the shape that --lr-schedule names
  // Freezes the rate: from now on, steps that begin after more than `samples` have the rate of `samples`.
  void hold_after(std::int64_t samples) { held_from_ = samples; }
  // How often the rate has dropped (at --lr-step-epochs) when `samples_seen` samples have been seen. 0 during warm-up,
  // and for schedules that fall smoothly or not at all.
  int drops(std::int64_t samples_seen) const;
  bool drops_ever() const { return drops(std::numeric_limits<std::int64_t>::max()) > 0; }
  // Whether the step that begins after `samples_seen` samples has a rate of the warm-up, before the one it leads to.
  bool is_warming_up(std::int64_t samples_seen) const { return static_cast<double>(samples_seen) < warmup_samples_; }
  double rate_after_warmup() const { return peak_; }
  // One line: "0.1 x 4 (linear) = 0.4, after warm-up from 0.1 over 5 epochs; cosine to 0"
  std::string describe() const;

 private:
  struct Shape;  // a row of the table in schedule.cpp
  static const std::vector<Shape>& shapes();
  static const Shape& shape_in(const OptionValues& values);
  void read_shape(const OptionValues& values);
  void read_warmup(const OptionValues& values, const ScheduleUnits& units);
  double samples_in_steps(double steps, const ScheduleUnits& units) const;
  double progress(double samples) const;
  double base_ = 0, scale_ = 1, peak_ = 0;
  double warmup_rate_ = 0, warmup_samples_ = 0;
  double final_ = 0, factor_ = 1;
  double samples_per_epoch_ = 0, total_samples_ = 0;
  std::int64_t held_from_ = std::numeric_limits<std::int64_t>::max();
  std::vector<double> step_epochs_;
  const Shape* shape_ = nullptr;
  std::string scaling_, warmup_;  // "5 epochs"; "" without warm-up
};

}  // namespace eave
