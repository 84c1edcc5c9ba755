#include "device/sync_batch_norm.h"

#include <algorithm>
#include <cmath>

namespace eave {
namespace {

bool are_finite(ConstSlice values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

// A rank's message holds its means, its variances and its number of rows.
double RankMoments::merge(MomentExchange& ranks, std::int64_t rows, Slice mean, Slice variance) {
  const std::size_t channels = mean.size(), length = 2 * channels + 1;
  mine_.assign(length, 0);
  if (rows > 0 && are_finite(mean) && are_finite(variance)) {
    std::ranges::copy(mean, mine_.begin());
    std::ranges::copy(variance, mine_.begin() + static_cast<std::ptrdiff_t>(channels));
    mine_.back() = static_cast<float>(rows);
  }
  const ConstSlice all = ranks.gather(mine_);
  double count = 0;
  for (std::size_t at = 0; at < all.size(); at += length) count += double{all[at + length - 1]};
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0, square = 0;
    for (std::size_t at = 0; at < all.size(); at += length) sum += double{all[at + length - 1]} * double{all[at + c]};
    const double merged = sum / count;
    for (std::size_t at = 0; at < all.size(); at += length) {
      const double away = double{all[at + c]} - merged;
      square += double{all[at + length - 1]} * (double{all[at + channels + c]} + away * away);
    }
    mean[c] = static_cast<float>(merged);
    variance[c] = static_cast<float>(square / count);
  }
  return count;
}

ConstSlice RankMoments::sum(MomentExchange& ranks, ConstSlice d_scale, ConstSlice d_shift) {
  mine_.assign(d_scale.size() + d_shift.size(), 0);
  if (are_finite(d_scale) && are_finite(d_shift)) {
    std::ranges::copy(d_shift, std::ranges::copy(d_scale, mine_.begin()).out);
  }
  ranks.sum(mine_);
  return mine_;
}

}  // namespace eave
