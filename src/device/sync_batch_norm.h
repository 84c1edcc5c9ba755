// Merges batch norm's statistics of one rank's rows with those of all other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/operations.h"

namespace eave {

// Merges the mean and the biased variance of each of p ranks, with n_i rows on rank i, into those of all rows (Chan,
// Golub and LeVeque 1979):
//
//     n = sum n_i;   mean = sum n_i mean_i / n;   variance = sum n_i (variance_i + (mean_i - mean)^2) / n
//
// Sums are in double and in rank order. So nothing cancels if means are much larger than deviations, and all ranks get
// the same bits.
class RankMoments {
 public:
  explicit RankMoments(std::size_t channels) { mine_.reserve(2 * channels + 1); }

  // Collective. On entry, `mean` and `variance` hold this rank's values (with 0 rows, anything); on return, those of
  // all ranks together. Returns n. A rank whose moments are not finite does not count. If no rank counts, n is 0 and
  // all values are NaN.
  double merge(MomentExchange& ranks, std::int64_t rows, Slice mean, Slice variance);

  // Collective. Returns the sums of each value over all ranks: first those of `d_scale`, then those of `d_shift`. If
  // one of this rank's values is not finite, none of them count. The result is valid until the next call.
  ConstSlice sum(MomentExchange& ranks, ConstSlice d_scale, ConstSlice d_shift);

 private:
  std::vector<float> mine_;
};

}  // namespace eave
