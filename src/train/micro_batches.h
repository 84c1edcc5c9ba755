// The gradients of a rank's batch as the sum, in pairs, of those of its micro-batches (Communicator::micro_batches).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "eave/trainer.h"

namespace eave {

class MicroBatches {
 public:
  // The communicator of `parts` has micro-batches; all outlive it. Memory: log2 of this rank's micro-batches times that
  // of the gradients, and one micro-batch's images.
  explicit MicroBatches(const TrainingParts& parts);

  // As Model::train, of all micro-batches of this rank. `step` is that of the whole batch.
  Score train(const Batch& batch, const Step& step, const std::function<void(Slice)>& ready);

 private:
  // Of neighbouring micro-batches, weighted.
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
  std::vector<Sum> sums_;  // of 2^k micro-batches each, of ever fewer; the first `kept_` are in use
  std::size_t kept_ = 0;
  Buffer before_;  // statistics, as the step finds them
  Buffer inputs_;  // of one micro-batch, at an address as good as any other's
};

}  // namespace eave
