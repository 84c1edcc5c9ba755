// Compares, every so many steps, what a method keeps bit-identical on all ranks: a bit that memory, a cable or a core
// has flipped on one of them would live on there for ever, and nobody would know.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "eave/trainer.h"

namespace eave {

// Where ranks exchange together, each hashes it after the same step (XXH3, 128 bits) and adds the hash to a small sum
// that runs behind the next steps; all look at it after the same later step, and so find the same: some steps later,
// but not before the ranks have waited for an exchange that was under way. With kRepair, and before evaluations, it is
// waited for.
class ReplicaWatch {
 public:
  // All outlive it.
  ReplicaWatch(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);

  // Collective, before the first step: compares what was loaded from a checkpoint.
  void begin(const TrainingProgress& progress);
  // After each step, on all ranks. Throws AgreedError(kInternal) where ranks differ and are not repaired.
  void after_step(std::int64_t index);
  void meet();  // collective, at an evaluation: compares now
  // Times, since the run began.
  std::int64_t repaired() const { return repaired_; }

 private:
  struct Comparison {
    std::int64_t step = 0;  // after which, from 1
    std::vector<float> values;
    Pending pending;
  };

  void compare();
  bool is_due() const;
  void start(const std::vector<Slice>& replicated);
  void settle();
  Hash128 hash_of_all(const std::vector<Slice>& replicated);
  void judge(const std::vector<std::string>& hashes, std::int64_t step);  // of all ranks
  void repair(int root);
  bool waits() const { return plan_.on_replica_fault == OnReplicaFault::kRepair; }

  const TrainingParts& parts_;
  const TrainingPlan& plan_;
  const TrainingEvents& events_;
  const std::int64_t every_;  // 0: nothing is compared
  std::int64_t steps_since_ = 0, steps_done_ = 0, first_step_ = 0, repaired_ = 0;
  std::vector<float> copy_;               // of what the host cannot read
  std::optional<Comparison> comparison_;  // under way
};

}  // namespace eave
