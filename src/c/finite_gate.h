// The NaN gate: tells all ranks whether a step's gradients are finite, and leaves out steps whose gradient or loss is
// not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

// One flag for each tensor of the model; 0: it has no gradient.
using TensorFlags = std::span<std::uint8_t>;

// A rank's statement about its gradients in a step.
struct OwnGradients {
  bool is_finite = true;
  bool is_large = false;     // the sum over all ranks could overflow
  bool counts = true;        // this rank has samples in this step, so its gradients have weight in the mean
  bool has_changed = false;  // a gradient has changed after it was handed over
  double share = 1;          // this rank's part of the samples of all ranks, as it was told
};

// The statements of all ranks, put together.
struct AllGradients {
  std::string where;  // the ranks whose gradients are not finite, such as " on rank 2"; "" if all are finite
  bool any_large = false, any_changed = false;
  double shares = 1;  // their sum, which is 1 if all ranks were told the right number of samples
};

// Flags of all ranks about a step's gradients. They travel in one small sum, at the same time as the gradients.
class GradientFlags {
 public:
  explicit GradientFlags(Transport& transport) : transport_(transport) {}

  // Collective, with the same number of tensors on each rank; then call finish().
  void start(const OwnGradients& own, TensorFlags has_gradient);
  // Sets each flag that is set on any rank that counts.
  AllGradients finish(TensorFlags has_gradient);

 private:
  Transport& transport_;
  std::vector<float> values_;  // sums over the ranks; see finite_gate.cpp
  Pending pending_;
};

// Handles steps whose gradient or loss is not finite, as `eave train --on-nonfinite` does: leaves them out and counts
// them, or ends the job. One difference: if only the gradient is not finite, `eave train` leaves out the parameters
// that it would make non-finite, and the Averager the whole step.
class FiniteGate {
 public:
  // Reads the options on-nonfinite and nonfinite-limit.
  FiniteGate(const Transport& transport, const OptionValues& values);

  // Called after each step's gradients. `step`: from 1. `is_of_all`: whether every rank finds the same `is_finite`;
  // else it is this rank's own. Warns at the first bad step. Throws at the first one with `abort`, else at
  // nonfinite-limit bad steps in a row: AgreedError(kDiverged) if is_of_all, else Error(kDiverged).
  void pass(bool is_finite, bool is_of_all, std::int64_t step, double learning_rate, const std::string& where);
  std::int64_t left_out() const { return left_out_; }  // number of steps
  std::int64_t in_a_row() const { return in_a_row_; }  // how many of the last steps
  // Goes on with the counts of an earlier gate.
  void restore(std::int64_t left_out, std::int64_t in_a_row) { left_out_ = left_out, in_a_row_ = in_a_row; }

 private:
  const int rank_;
  const std::int64_t limit_;
  std::int64_t left_out_ = 0, in_a_row_ = 0;
};

}  // namespace eave
