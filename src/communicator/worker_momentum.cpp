#include "communicator/worker_momentum.h"

#include "base/option_checks.h"
#include "eave/check.h"

namespace eave {

OptionSpec worker_momentum_option() {
  return {"worker-momentum",
          OptionType::kText,
          "local",
          "at an exchange, the optimizer's vectors are kept (local), averaged too (average) or set to 0 (reset)",
          {"local", "average", "reset"}};
}

WorkerMomentum worker_momentum_in(const OptionValues& values) {
  const std::string& word = values.text("worker-momentum");
  if (word == "average") return WorkerMomentum::kAverage;
  return word == "reset" ? WorkerMomentum::kReset : WorkerMomentum::kLocal;
}

std::string describe_worker_momentum(WorkerMomentum momentum) {
  switch (momentum) {
    case WorkerMomentum::kLocal:
      return "worker momentum stays local";
    case WorkerMomentum::kAverage:
      return "worker momentum is averaged with the same weights";
    case WorkerMomentum::kReset:
      return "worker momentum is reset to 0 at each exchange";
  }
  return "";
}

void refuse_without_vectors(const CommunicatorContext& context, WorkerMomentum momentum) {
  if (momentum == WorkerMomentum::kLocal || context.optimizer_vectors != 0) return;
  refuse_option(context.values, "worker-momentum",
                "has no effect: the optimizer keeps no vectors; give it --momentum, or leave this out");
}

void require_vectors(WorkerMomentum momentum, const ReplicaView& replica) {
  if (momentum == WorkerMomentum::kLocal || !replica.optimizer.empty()) return;
  throw AgreedError(ExitCode::kUsage,
                    std::string("--worker-momentum ") + (momentum == WorkerMomentum::kAverage ? "average" : "reset") +
                        " has no effect: the optimizer keeps no vectors; give it --momentum, or leave this out");
}

double exchange_momentum(WorkerMomentum momentum, const ReplicaView& replica, const WeightedMean& mean) {
  double seconds = 0;
  for (const Slice vector : replica.optimizer) {
    if (momentum == WorkerMomentum::kAverage) seconds += mean.average(*replica.device, vector);
    if (momentum == WorkerMomentum::kReset) replica.device->fill(vector, 0);
  }
  return seconds;
}

}  // namespace eave
