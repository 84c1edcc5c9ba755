// Runs one rank's steps: batch, gradients, exchange, update, and the record of each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eave/trainer.h"
#include "eave/update_steps.h"
#include "train/loop/fault_injection.h"
#include "train/loop/micro_batches.h"
#include "train/loop/step_gradient.h"
#include "train/loop/step_log.h"
#include "train/loop/step_trace.h"
#include "train/watch/slow_watch.h"

namespace eave {

class StepRunner {
 public:
  // All arguments outlive this object. Every step is recorded in `log`, and timed by `watch`.
  StepRunner(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events, Loader& loader,
             StepLog& log, SlowWatch& watch, const StepTrace& trace);

  // `progress` is that before the plan's first step.
  void begin(const TrainingProgress& progress);
  // Runs one step. If all ranks meet after it (`meets_after`), the caller makes its record at that meeting.
  void run(std::int64_t index, bool meets_after);
  // Waits for the results of all steps that were started, and records them. Until then a device may compute behind the
  // host. Throws Error(kDiverged) as train() does.
  void settle() { settle(0); }
  std::int64_t nonfinite_in_a_row() const { return nonfinite_in_a_row_; }
  // Why training has diverged on this rank, if divergence ends the run on all ranks together; "" otherwise.
  const std::string& divergence() const { return divergence_; }

 private:
  // A step that the host has finished. The device may still be computing it.
  struct Started {
    Step step;
    bool meets_after = false;
    std::int64_t ticket = 0;  // of its score, if that is not known yet
    std::optional<Score> score = {};
    bool is_left_out = false;                        // its loss is known not to be finite
    std::optional<double> gradient_norm = {};        // with --clip-norm, if this rank has a gradient
    std::shared_ptr<DeviceAnswer> finite = nullptr;  // whether the update moved all elements
  };

  const Batch& load(std::int64_t index);
  Score score(const Started& started);
  void settle(std::size_t rest);
  void settle(const Started& started);
  void settle_or_abort(const Started& started, const Score& score, bool is_finite);
  void settle_or_leave_out(const Started& started, const Score& score, bool is_finite);
  void end_or_remember(const std::string& what);
  void diverge(const std::string& what);
  void log_step(const Started& started, const Score& score, bool whole);
  bool is_first_after_drop(std::int64_t index) const;
  void before_gradients(const Step& step);
  void compute_gradients(const Batch& batch, Started& started);
  std::optional<Pull> before_update(const Step& step);
  std::shared_ptr<DeviceAnswer> apply_update(Started& started);
  float clip(Started& started);
  ConstSlice gradients_of_last_tensor();
  template <class Seconds>
  void stretch(std::int64_t index, Seconds computing) const;

  const TrainingParts& parts_;
  const TrainingPlan& plan_;
  const TrainingEvents& events_;
  Loader& loader_;
  StepLog& log_;
  SlowWatch& watch_;
  const StepTrace& trace_;
  FaultInjection injection_;
  StepPace pace_;
  std::optional<MicroBatches> micro_batches_;
  std::optional<Accumulation> accumulation_;
  const std::int64_t most_samples_;  // of this rank in one step
  const bool runs_ahead_;
  std::int64_t samples_ = 0;  // of all ranks, in the steps started so far
  std::vector<Started> started_;
  std::int64_t nonfinite_in_a_row_ = 0;
  bool has_told_nonfinite_ = false;
  std::string divergence_;
};

}  // namespace eave
