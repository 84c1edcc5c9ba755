// Compares the vectors that a method keeps bit-identical on all ranks, and the moving average of --ema-decay, every
// --replica-hash-every steps and before evaluations. guard/replica_comparison.h does the work.
#pragma once

#include <cstdint>

#include "eave/trainer.h"
#include "guard/replica_comparison.h"

namespace eave {

class ReplicaWatch {
 public:
  // All arguments outlive this object.
  ReplicaWatch(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);

  // Collective, before the first step: compares what was loaded from a checkpoint.
  void begin(const TrainingProgress& progress);
  // After each step, on all ranks. Throws AgreedError(kInternal) if ranks differ and are not repaired.
  void after_step(std::int64_t index) { comparison_.after_step(index); }
  void meet();  // collective, before an evaluation or a checkpoint: compares now
  // How many times replicas were repaired since the run began, resumptions included.
  std::int64_t repaired() const { return repaired_before_ + comparison_.repaired(); }

 private:
  ReplicaComparison comparison_;
  std::int64_t repaired_before_ = 0;
};

}  // namespace eave
