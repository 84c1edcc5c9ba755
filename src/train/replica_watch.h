// Compares, every so many steps and before evaluations, what a method keeps bit-identical on all ranks.
#pragma once

#include <cstdint>

#include "eave/trainer.h"
#include "guard/replica_comparison.h"

namespace eave {

class ReplicaWatch {
 public:
  // All outlive it.
  ReplicaWatch(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);

  // Collective, before the first step: compares what was loaded from a checkpoint.
  void begin(const TrainingProgress& progress);
  // After each step, on all ranks. Throws AgreedError(kInternal) if ranks differ and are not repaired.
  void after_step(std::int64_t index) { comparison_.after_step(index); }
  void meet();  // collective, at an evaluation: compares now
  // Times, since the run began.
  std::int64_t repaired() const { return repaired_before_ + comparison_.repaired(); }

 private:
  ReplicaComparison comparison_;
  std::int64_t repaired_before_ = 0;
};

}  // namespace eave
