// Treats the optimizer's vectors (momentum) when the parameters are exchanged: keeps, resets or averages them.
#pragma once

#include <string>

#include "communicator/support/weighted_mean.h"
#include "eave/communicator.h"

namespace eave {

enum class WorkerMomentum { kLocal, kAverage, kReset };

// --worker-momentum
OptionSpec worker_momentum_option();
WorkerMomentum worker_momentum_in(const OptionValues& values);
std::string describe_worker_momentum(WorkerMomentum momentum);

// Throws Error(kUsage) if the optimizer has no vectors to average or reset and this is known before begin().
void refuse_without_vectors(const CommunicatorContext& context, WorkerMomentum momentum);
// The optimizer's vectors of one replica, at the exchanges of its parameters.
class MomentumExchange {
 public:
  // `vectors`: how many vectors the optimizer will have; -1: begin() will tell. `codec` compresses the first vector,
  // the momentum.
  MomentumExchange(Transport& transport, WorkerMomentum momentum, const std::shared_ptr<const Codec>& codec,
                   int vectors);

  // The vectors must be 0 on all ranks. Throws AgreedError(kUsage) if there are none to average or reset.
  void begin(const ReplicaView& replica);
  // Call it at each exchange, before the mean's counts are reset. With kAverage it is collective, one all-reduce per
  // vector. With kReset it sets the vectors and the optimizer's count of updates to 0, so AdamW corrects the bias of
  // the new vectors. Returns the seconds it blocked.
  double exchange(const WeightedMean& mean);
  // Call it when the vectors are equal on all ranks without an exchange. Workers then send their distance from these
  // values (MeanExchange::agree_on).
  void agree();
  // Call it after the vectors have been set to 0 on all ranks.
  void reset();
  // Call it when a run goes on with another number of ranks. Collective with kAverage. Workers then send their distance
  // from the mean of the vectors. A new worker's count of updates begins at 0. At its next exchange it takes the mean
  // of the vectors, and from then on the count of the others. Until then `mean` keeps how far it is behind. Returns the
  // seconds it blocked.
  double join(WeightedMean& mean);
  // For checkpoints.
  void append_state(std::vector<Slice>& state);
  // Appends what is equal on all ranks right after an exchange: the optimizer's vectors, if they are averaged.
  void append_replicated(std::vector<Slice>& vectors);

 private:
  void prepare(int vectors);
  void join_counts(WeightedMean& mean);

  Transport& transport_;
  const WorkerMomentum momentum_;
  const std::shared_ptr<const Codec> codec_;
  ReplicaView replica_;
  std::vector<MeanExchange> means_;  // kAverage: one for each vector
};

}  // namespace eave
