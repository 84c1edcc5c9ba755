#include <algorithm>
#include <cmath>

#include "kernels/cpu/lane_sums.h"
#include "kernels/cpu/tokens.h"
#include "kernels/elementwise/math.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kPiece = 1024;  // values summed in float before they are added to a sum in double

// The sum of e^(logit − largest). `exponentials` gets them and may be `logits`; nullptr: not wanted.
EAVE_INLINE double sum_exponentials(const float* logits, float largest, std::int64_t classes, float* exponentials) {
  double sum = 0;
  float piece[kPiece];
  for (std::int64_t begin = 0; begin < classes; begin += kPiece) {
    const std::int64_t count = classes - begin < kPiece ? classes - begin : kPiece;
    float* const into = exponentials != nullptr ? exponentials + begin : piece;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) into[i] = elementwise::exp(logits[begin + i] - largest);
    sum += double{sum_values(into, count)};
  }
  return sum;
}

EAVE_INLINE double mean_of(const float* logits, std::int64_t classes) {
  double sum = 0;
  for (std::int64_t begin = 0; begin < classes; begin += kPiece) {
    sum += double{sum_values(logits + begin, classes - begin < kPiece ? classes - begin : kPiece)};
  }
  return sum / static_cast<double>(classes);
}

// Turns the exponentials of a row, which sum up to `sum`, into its gradient.
EAVE_INLINE void finish_gradient(float* d_row, std::int64_t classes, std::int32_t label, double sum,
                                 const LossFactors& factors) {
  const float share = factors.of_gradient / static_cast<float>(sum);
  if (factors.smoothing > 0) {
    const float spread = factors.of_gradient * factors.smoothing / static_cast<float>(classes);
    for (std::int64_t i = 0; i < classes; ++i) d_row[i] = d_row[i] * share - spread;
  } else {
    for (std::int64_t i = 0; i < classes; ++i) d_row[i] *= share;
  }
  d_row[label] -= factors.of_gradient * (1 - factors.smoothing);
}

}  // namespace

EAVE_MULTIVERSION LossTotals token_cross_entropy(const float* logits, const std::int32_t* labels, std::int64_t rows,
                                                 std::int64_t classes, const LossFactors& factors, float* d_logits) {
  LossTotals totals;
  for (std::int64_t row = 0; row < rows; ++row, logits += classes) {
    float* const d_row = d_logits == nullptr ? nullptr : d_logits + row * classes;
    const std::int32_t label = labels[row];
    if (label < 0) {
      if (d_row != nullptr) std::fill_n(d_row, classes, 0.0f);
      continue;
    }
    const float largest = largest_value(logits, classes), of_label = logits[label];
    if (of_label == largest && std::find(logits, logits + label, largest) == logits + label) ++totals.correct;
    double target = double{of_label};
    if (factors.smoothing > 0) target += double{factors.smoothing} * (mean_of(logits, classes) - target);
    const double sum = sum_exponentials(logits, largest, classes, d_row);
    totals.loss += std::log(sum) + double{largest} - target;
    if (d_row != nullptr) finish_gradient(d_row, classes, label, sum, factors);
  }
  return totals;
}

}  // namespace eave::cpu
