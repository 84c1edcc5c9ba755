// Steps whose gradient or loss is not finite, as --on-nonfinite of `eave train` has it: they are left out and counted,
// or end the job.
#pragma once

#include <cstdint>
#include <string>

#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

class FiniteGate {
 public:
  // on-nonfinite, nonfinite-limit.
  FiniteGate(const Transport& transport, const OptionValues& values);

  // After each step's gradients. `step`: from 1. `is_of_all`: every rank finds the same; else it is this rank's alone.
  // Warns of the first. Throws Error(kDiverged), or AgreedError if it is of all: of the first with `abort`, else of as
  // many in a row as the limit says.
  void pass(bool is_finite, bool is_of_all, std::int64_t step, double learning_rate, const std::string& where);
  std::int64_t left_out() const { return left_out_; }  // steps

 private:
  const int rank_;
  const std::int64_t limit_;
  std::int64_t left_out_ = 0, in_a_row_ = 0;
};

}  // namespace eave
