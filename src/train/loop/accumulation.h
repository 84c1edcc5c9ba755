// Gradient accumulation: computes a rank's gradient in several passes, each over a part of the batch, so that the
// activations of one part are in memory at a time.
//     g = sum_k (n_k / n) g_k, n_k samples of part k, g_k the gradient of their mean loss
#pragma once

#include <cstdint>
#include <functional>

#include "eave/trainer.h"

namespace eave {

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

}  // namespace eave
