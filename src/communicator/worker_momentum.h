// What becomes of the optimizer's vectors (momentum) when the parameters are exchanged.
#pragma once

#include <string>

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
// For begin(): throws AgreedError(kUsage) where there are no vectors to do that with.
void require_vectors(WorkerMomentum momentum, const ReplicaView& replica);

// At an exchange, before the mean's counts are reset. kAverage: collective, one allreduce per vector. An optimizer's
// count of its updates stays: AdamW with vectors set to 0 goes on without correction of their bias. Returns the seconds
// it blocked.
double exchange_momentum(WorkerMomentum momentum, const ReplicaView& replica, const WeightedMean& mean);

}  // namespace eave
