// The mean of the workers, weighted by the samples each has trained on: the middle of every averaging method.
#pragma once

#include <cstdint>

#include "communicator/kept_numbers.h"
#include "eave/communicator.h"

namespace eave {

// mean = sum_i (n_i / n) x_i, n_i = samples of rank i since the counts were reset, n = sum_i n_i. Every rank knows n
// from the steps, so the mean costs one allreduce and nothing else; a worker without samples takes part with weight 0.
// Where nobody has had a sample the workers count alike.
class WeightedMean {
 public:
  explicit WeightedMean(Transport& transport) : transport_(transport) {}

  void count(const Step& step);
  void reset();
  // Collective: the ranks are other ones than before, and each has its own n_i; n becomes their sum.
  void count_anew();
  std::int64_t samples_everywhere() const { return counts_.integer(1); }
  // Collective: every rank's `values` become their mean, the same bits on all ranks. Returns the seconds it blocked.
  double average(Device& device, Slice values) const;
  float weight() const;  // of this rank
  // For checkpoints.
  Slice state() { return counts_.slice(); }

 private:
  Transport& transport_;
  KeptNumbers counts_{2};  // n_i, n
};

}  // namespace eave
