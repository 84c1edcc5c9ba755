// Computes the gradients of a rank's batch as the pairwise sum of those of its micro-batches
// (Communicator::micro_batches).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "eave/trainer.h"

namespace eave {

// The `count` samples of `batch` from `begin` on. Their inputs are copied into `inputs`, which has space for them: a
// slice of the batch may be less well aligned. Empty if the device holds the images.
Batch part_of(const Batch& batch, std::int64_t begin, std::int64_t count, Slice inputs);

class MicroBatches {
 public:
  // The communicator of `parts` has micro-batches. All parts outlive this object. Memory: log2(this rank's
  // micro-batches) copies of the gradients, and the images of one micro-batch.
  explicit MicroBatches(const TrainingParts& parts);

  // Like Model::train, for all micro-batches of this rank. `step` is that of the whole batch.
  Score train(const Batch& batch, const Step& step, const std::function<void(Slice)>& ready);

 private:
  // The weighted sum over neighbouring micro-batches.
  struct Sum {
    Buffer gradients, statistics;
  };

  Batch cut(const Batch& batch, const Step& step, int part);
  Score train_part(const Batch& part, const Step& step, Slice gradients, const std::function<void(Slice)>& ready);
  void keep_sum(int part);
  void add_kept(Slice values);

  const TrainingParts& parts_;
  Replica& replica_;
  const int micro_batches_, of_rank_;
  // Each sums 2^k micro-batches, with k falling from one to the next. The first `kept_` are in use.
  std::vector<Sum> sums_;
  std::size_t kept_ = 0;
  Buffer before_;  // statistics at the beginning of the step
  Buffer inputs_;  // images of one micro-batch: a slice of the batch may be less well aligned
};

}  // namespace eave
