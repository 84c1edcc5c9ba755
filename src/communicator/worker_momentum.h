// What becomes of the optimizer's vectors (momentum) when the parameters are exchanged.
#pragma once

#include <string>

#include "communicator/mean_exchange.h"
#include "communicator/weighted_mean.h"
#include "eave/communicator.h"

namespace eave {

enum class WorkerMomentum { kLocal, kAverage, kReset };

// --worker-momentum
OptionSpec worker_momentum_option();
WorkerMomentum worker_momentum_in(const OptionValues& values);
std::string describe_worker_momentum(WorkerMomentum momentum);

// Throws Error(kUsage) where it is known before begin() that there are no vectors to do that with.
void refuse_without_vectors(const CommunicatorContext& context, WorkerMomentum momentum);
// The optimizer's vectors of one replica, at the exchanges of its parameters.
class MomentumExchange {
 public:
  // `vectors`: how many there will be; -1: begin() will tell. The first of them, the momentum, travels by `codec`.
  MomentumExchange(Transport& transport, WorkerMomentum momentum, const std::shared_ptr<const Codec>& codec,
                   int vectors);

  // The vectors are 0 on all ranks. Throws AgreedError(kUsage) where there are none to do anything with.
  void begin(const ReplicaView& replica);
  // At an exchange, before the mean's counts are reset. kAverage: collective, one allreduce per vector. kReset: the
  // vectors and the optimizer's count of updates become 0, so AdamW corrects the bias of the new vectors. Returns the
  // seconds it blocked.
  double exchange(const WeightedMean& mean);
  // The vectors have been set to 0 on all ranks.
  void reset();
  // A run goes on with other ranks. Collective with kAverage: a new worker's count of updates begins at 0, and from the
  // next exchange on, when it takes the mean of the vectors, is that of the others.
  void join();
  // For checkpoints.
  void append_state(std::vector<Slice>& state);

 private:
  void prepare(int vectors);

  Transport& transport_;
  const WorkerMomentum momentum_;
  const std::shared_ptr<const Codec> codec_;
  ReplicaView replica_;
  std::vector<MeanExchange> means_;  // kAverage: of each vector
  std::int64_t updates_behind_ = 0;  // of this worker's optimizer, until the next exchange
};

}  // namespace eave
