// Follows the steps of an Averager.
#pragma once

#include <cstdint>

#include "eave/checkpoint.h"
#include "eave/communicator.h"
#include "eave/transport.h"
#include "eave/update_steps.h"

namespace eave {

// The ranks whose samples a step's `samples_everywhere` counts.
enum class CountedSamples {
  kOfAllRanks,
  kEven,        // the caller has not told how many samples the step has
  kOfThisRank,  // with join(), if ranks take steps independently: only `samples` is known
};

// The part of a saved state that an observer keeps: the number that it gives to this rank's last step, how many of the
// last steps it has not reported yet, and the learning rate of the last one.
struct ObservedSteps {
  std::int64_t number = 0, untold = 0;
  double learning_rate = 0;
};

// The transport's thread makes all calls but the last.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Before the step changes anything. Throws Error(kUsage) if the step must not be taken.
  virtual void before_step(const Step& step, CountedSamples counted) = 0;
  // Before a step with join() meets the other ranks. `samples`: of this rank. Throws Error(kUsage) likewise.
  virtual void refuse_joined(std::int64_t samples) const = 0;
  virtual void after_step(const Step& step, bool is_left_out) = 0;
  // When this rank comes to a consensus or to a save, and when all ranks have come. Training time ends then: the last
  // one has trained until then.
  virtual void before_meeting() = 0;
  virtual void before_consensus() = 0;
  virtual void begin_save() = 0;
  // `distance`: ‖x − c‖ / ‖c‖ of this rank's parameters x from the consensus c.
  virtual void after_consensus(double distance) = 0;
  // Collective. Adds to `progress`, which is saved, what has been observed so far; its samples are equal on all ranks.
  virtual ObservedSteps before_save(Transport& transport, TrainingProgress& progress) = 0;
  virtual void after_checkpoint() = 0;  // when the save has written a checkpoint
  virtual void averager_is_gone() = 0;
};

}  // namespace eave
