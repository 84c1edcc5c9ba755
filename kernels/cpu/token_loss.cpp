#include <algorithm>
#include <cmath>

#include "kernels/cpu/lane_sums.h"
#include "kernels/cpu/tokens.h"
#include "kernels/elementwise/math.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kPiece = 1024;  // exponentials summed in float before they are added to a sum in double

// The sum of e^(logit − largest). `exponentials` gets them; nullptr: not wanted.
EAVE_INLINE double sum_exponentials(const float* logits, float largest, std::int64_t classes, float* exponentials) {
  double sum = 0;
  float piece[kPiece];
  for (std::int64_t begin = 0; begin < classes; begin += kPiece) {
    const std::int64_t count = classes - begin < kPiece ? classes - begin : kPiece;
    float* const into = exponentials != nullptr ? exponentials + begin : piece;
    for (std::int64_t i = 0; i < count; ++i) into[i] = elementwise::exp(logits[begin + i] - largest);
    sum += double{sum_values(into, count)};
  }
  return sum;
}

}  // namespace

EAVE_MULTIVERSION LossTotals token_cross_entropy(const float* logits, const std::int32_t* labels, std::int64_t rows,
                                                 std::int64_t classes, float factor, float* d_logits) {
  LossTotals totals;
  for (std::int64_t row = 0; row < rows; ++row, logits += classes) {
    float* const d_row = d_logits == nullptr ? nullptr : d_logits + row * classes;
    const std::int32_t label = labels[row];
    if (label < 0) {
      if (d_row != nullptr) std::fill_n(d_row, classes, 0.0f);
      continue;
    }
    const float largest = largest_value(logits, classes);
    const double sum = sum_exponentials(logits, largest, classes, d_row);
    totals.loss += std::log(sum) + double{largest} - double{logits[label]};
    if (logits[label] == largest && std::find(logits, logits + label, largest) == logits + label) ++totals.correct;
    if (d_row == nullptr) continue;
    const float share = factor / static_cast<float>(sum);
    for (std::int64_t i = 0; i < classes; ++i) d_row[i] *= share;
    d_row[label] -= factor;
  }
  return totals;
}

}  // namespace eave::cpu
