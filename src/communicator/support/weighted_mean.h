// The mean of the workers, weighted by the samples that each has trained on. The methods that average parameters build
// on it.
#pragma once

#include <cstdint>

#include "communicator/center/kept_numbers.h"
#include "eave/communicator.h"

namespace eave {

// mean = sum_i (n_i / n) x_i, with n_i the samples of rank i since the counts were reset, and n = sum_i n_i. Every rank
// knows n from the steps, so a mean costs one all-reduce and nothing else. A worker without samples takes part with
// weight 0. If no worker has had a sample, all have weight 1/p.
class WeightedMean {
 public:
  explicit WeightedMean(Transport& transport) : transport_(transport) {}

  void count(const Step& step);
  void reset();
  // Collective. Call it when the run goes on with other ranks. Each rank keeps its n_i, and n becomes their sum.
  void count_anew();
  std::int64_t samples_everywhere() const { return counts_.integer(1); }
  // Collective. Replaces every rank's `values` by their mean, with the same bits on all ranks. Returns the seconds it
  // blocked.
  double average(Device& device, Slice values) const;
  float weight() const;  // this rank's n_i / n; 1/p if n is 0
  // For checkpoints.
  Slice state() { return counts_.slice(); }

 private:
  Transport& transport_;
  KeptNumbers counts_{2};  // n_i, n
};

}  // namespace eave
