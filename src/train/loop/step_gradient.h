// The gradient of a step: computed in parts, and clipped.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "eave/trainer.h"

namespace eave {

// Gradient accumulation: computes a rank's gradient in several passes, each over a part of the batch, so that the
// activations of one part are in memory at a time.
//     g = sum_k (n_k / n) g_k, n_k samples of part k, g_k the gradient of their mean loss
class Accumulation {
 public:
  // All parts outlive this object. Memory: one copy of the gradients, and the inputs of one part.
  Accumulation(const TrainingParts& parts, int passes);

  // Like Model::train. The sum is the same as that of one pass up to rounding. Batch norm normalises each part by
  // itself and moves its statistics with each.
  Score train(const Batch& batch, float weight, const std::function<void(Slice)>& ready);

  // The samples of the largest part of a batch.
  static std::int64_t largest_part(std::int64_t samples, int passes) { return (samples + passes - 1) / passes; }

 private:
  Score train_part(const Batch& part, Slice gradients, float weight, const std::function<void(Slice)>& ready);
  void add_sum(Slice gradients);

  Replica& replica_;
  const int passes_;
  Buffer sum_;     // of all parts but the last
  Buffer inputs_;  // of one part
};

// Clipping by the norm of the whole gradient (--clip-norm; Pascanu, Mikolov, Bengio 2013, algorithm 1):
//     g <- g min(1, limit / |g|)
// The factor on a gradient with this norm. It is NaN if the norm is not finite. Then no element takes its step, because
// the share of each would be unknown.
inline float clip_factor(double norm, double limit) {
  if (!std::isfinite(norm)) return std::numeric_limits<float>::quiet_NaN();
  return norm > limit ? static_cast<float>(limit / norm) : 1;
}

}  // namespace eave
