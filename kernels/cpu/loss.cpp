#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cpu/layers.h"

namespace eave::cpu {

// Plain code is enough: one exponential per class is a fraction of a percent of any step.
LossTotals softmax_cross_entropy(const float* logits, const std::int32_t* labels, std::int64_t rows,
                                 std::int64_t classes, const LossFactors& factors, float* d_logits) {
  const float factor = factors.of_gradient;
  LossTotals totals;
  for (std::int64_t row = 0; row < rows; ++row, logits += classes) {
    const std::int32_t label = labels[row];
    if (label < 0) {
      if (d_logits != nullptr) d_logits = std::fill_n(d_logits, classes, 0.0f);
      continue;
    }
    const std::int64_t largest = std::max_element(logits, logits + classes) - logits;
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - logits[largest]);
    double target = logits[label];
    if (factors.smoothing > 0) {
      const double mean = std::accumulate(logits, logits + classes, 0.0) / static_cast<double>(classes);
      target += double{factors.smoothing} * (mean - target);
    }
    totals.loss += std::log(sum) + logits[largest] - target;
    totals.correct += largest == label ? 1 : 0;
    if (d_logits == nullptr) continue;
    const float share = factor / static_cast<float>(sum);
    for (std::int64_t c = 0; c < classes; ++c) d_logits[c] = share * std::exp(logits[c] - logits[largest]);
    if (factors.smoothing > 0) {
      const float spread = factor * factors.smoothing / static_cast<float>(classes);
      for (std::int64_t c = 0; c < classes; ++c) d_logits[c] -= spread;
    }
    d_logits[label] -= factor * (1 - factors.smoothing);
    d_logits += classes;
  }
  return totals;
}

}  // namespace eave::cpu
