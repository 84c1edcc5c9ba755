// Handles steps whose gradient or loss is not finite, as `eave train --on-nonfinite` does: leaves them out and counts
// them, or ends the job.
#pragma once

#include <cstdint>
#include <string>

#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

class FiniteGate {
 public:
  // Reads the options on-nonfinite and nonfinite-limit.
  FiniteGate(const Transport& transport, const OptionValues& values);

  // Called after each step's gradients. `step`: from 1. `is_of_all`: whether every rank finds the same `is_finite`;
  // else it is this rank's own. Warns at the first bad step. Throws at the first one with `abort`, else at
  // nonfinite-limit bad steps in a row: AgreedError(kDiverged) if is_of_all, else Error(kDiverged).
  void pass(bool is_finite, bool is_of_all, std::int64_t step, double learning_rate, const std::string& where);
  std::int64_t left_out() const { return left_out_; }  // number of steps

 private:
  const int rank_;
  const std::int64_t limit_;
  std::int64_t left_out_ = 0, in_a_row_ = 0;
};

}  // namespace eave
