// What batch norm measures of one rank's rows, merged with that of all others.
#pragma once

#include <cstdint>
#include <vector>

#include "eave/compute.h"

namespace eave {

// Mean and variance (biased) of the rows of p ranks, n_i of them on rank i, from those of each:
//
//     n = sum n_i;   mean = sum n_i mean_i / n;   variance = sum n_i (variance_i + (mean_i - mean)^2) / n
//
// in double and in rank order: no cancellation where means are much larger than deviations, and the same bits on all
// ranks. Chan, Golub and LeVeque 1979.
class RankMoments {
 public:
  // Collective. `mean` and `variance` hold this rank's, or with 0 rows anything, and become those of all. Returns n: a
  // rank whose moments are not finite does not count; without any that counts, 0, and all are NaN.
  double merge(MomentExchange& ranks, std::int64_t rows, Slice mean, Slice variance);

  // Collective: the sums over ranks of each value, those of `d_scale` first; of this rank nothing counts where one is
  // not finite. Until the next call.
  ConstSlice sum(MomentExchange& ranks, ConstSlice d_scale, ConstSlice d_shift);

 private:
  std::vector<float> mine_;
};

}  // namespace eave
