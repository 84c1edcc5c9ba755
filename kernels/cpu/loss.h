// Softmax cross-entropy.
#pragma once

#include <cstdint>

namespace eave::cpu {

struct LossTotals {
  double loss = 0;
  std::int64_t correct = 0;
};

// Sums over rows × classes logits; d_logits (nullptr: not wanted) = factor × (softmax − onehot(label)).
LossTotals softmax_cross_entropy(const float* logits, const std::int32_t* labels, std::int64_t rows,
                                 std::int64_t classes, float factor, float* d_logits);

}  // namespace eave::cpu
