// From gradients to a step: optimizer and learning rate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eave/options.h"
#include "eave/pull.h"
#include "eave/slice.h"

namespace eave {

// Turns gradients into a change of parameters, in one pass over the arena, elastic pull included.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // `parameters` and `gradients` are as large as the arena given to make. Not collective.
  virtual void update(Slice parameters, ConstSlice gradients, double learning_rate, const std::optional<Pull>& pull) = 0;
  // Its state vectors (momentum first), for exchanges and checkpoints; each as large as the arena.
  virtual std::vector<Slice> state() = 0;
  virtual std::string equation() const = 0;
};

struct OptimizerKind {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;
  std::unique_ptr<Optimizer> (*make)(const OptionValues& values, std::int64_t arena_size);
};

const std::vector<OptimizerKind>& optimizer_kinds();

// Applies only the pull: for a step in which a replica that trains on its own has no samples.
void apply_pull(Slice parameters, const Pull& pull);

// Learning rate as a function of samples seen by all ranks together, so epoch n has the same rate for every rank count.
// Scaling (Goyal et al. 2017): the base rate is multiplied by k (linear) or √k, k = total batch / batch per rank, for
// methods that average gradients; warm-up goes from the base rate to the scaled one by a constant amount per sample.
class Schedule {
 public:
  // Declares --lr, --lr-schedule constant|step|cosine, --lr-step-epochs, --lr-step-factor, --lr-final,
  // --lr-scaling none|linear|sqrt, --warmup-epochs, --warmup-from.
  static std::vector<OptionSpec> options();
  // `scale` = k as above (1 for methods that do not average gradients). Throws Error(kUsage) for options that
  // contradict each other or would have no effect.
  Schedule(const OptionValues& values, std::int64_t samples_per_epoch, std::int64_t total_samples, double scale);

  double learning_rate(std::int64_t samples_seen) const;
  std::string describe() const;  // one line: "0.1 × 4 (linear, 4 ranks) with warm-up over 5 epochs, cosine to 0"

 private:
  double base_ = 0, peak_ = 0, final_ = 0, factor_ = 1, warmup_samples_ = 0, warmup_from_ = 1;
  std::int64_t samples_per_epoch_ = 0, total_samples_ = 0;
  std::vector<double> step_epochs_;
  std::string shape_, scaling_;
  double scale_ = 1;
};

}  // namespace eave
