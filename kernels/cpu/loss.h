// Softmax cross-entropy.
#pragma once

#include <cstdint>

namespace eave::cpu {

struct LossTotals {
  double loss = 0;
  std::int64_t correct = 0;
};

// Returns the sums over rows × classes logits. d_logits = factor × (softmax − onehot(label)); nullptr: not wanted. A
// row counts as correct if its label's logit is the largest; the first of equal logits wins.
LossTotals softmax_cross_entropy(const float* logits, const std::int32_t* labels, std::int64_t rows,
                                 std::int64_t classes, float factor, float* d_logits);

}  // namespace eave::cpu
