// Keeps a rank's step records and totals, and reports them. Training time runs from begin() on, except during
// outside_of_training.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "eave/trainer.h"

namespace eave {

// The mean loss over the samples of some steps.
class LossMean {
 public:
  void add(const Score& score);
  // Returns the mean and begins anew; NaN if there was no sample.
  double take();
  double sum() const { return sum_; }
  std::int64_t samples() const { return samples_; }

 private:
  double sum_ = 0;
  std::int64_t samples_ = 0;
};

class StepLog {
 public:
  // All arguments outlive this object.
  StepLog(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events, const Loader& loader);

  void begin(const TrainingProgress& so_far);
  // Adds a finished step. `whole` is false if the step was left out. With OnNonfinite::kSkip the caller passes an empty
  // score in place of a loss that is not finite.
  void add(const Step& step, const Score& score, bool whole, const std::optional<double>& gradient_norm);
  void add_waiting(double seconds) { seconds_meeting_ += seconds; }  // waiting that the communicator does not count
  void glance();  // reports progress (TrainingEvents::glance), at most every 0.2 s
  // Makes the record of the steps since the last one. A rank that only serves makes none.
  void record();

  // Collective: a barrier before an evaluation. Ranks that train at their own pace reach it at different times. The
  // time that fast ranks wait here counts as training.
  void meet();
  // Runs `action` without counting its time and bytes to the steps around it. Bytes of replies still count: other ranks
  // may be training.
  void outside_of_training(const std::function<void()>& action);

  void tell_records();      // collective: sends all records of all ranks to rank 0
  void tell_own_records();  // reports rank 0's records; those of other ranks wait

  const TrainingProgress& progress() const { return progress_; }
  // The progress, with what the next record will say of the steps already done. Call within outside_of_training.
  TrainingProgress progress_to_save() const;
  double epochs() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Running totals. A record is the difference between two of them.
  struct Totals {
    double loading = 0, waiting = 0, exchanging = 0;
    std::int64_t bytes = 0, bytes_replied = 0;
    Totals operator-(const Totals& other) const;
  };

  Totals totals() const;
  void pause();
  void resume() { interval_start_ = Clock::now(); }
  StepRecord record_of_now(LossMean& loss);
  bool is_late_at_next(const StepRecord& record) const;

  const TrainingParts& parts_;
  const int most_records_;
  const TrainingEvents& events_;
  const Loader& loader_;
  std::vector<StepRecord> records_;  // of this rank, not yet reported
  int records_since_meeting_ = 0;
  Totals last_;
  Clock::time_point interval_start_, glanced_ = Clock::now();
  double told_seconds_ = 0, logged_seconds_ = 0, seconds_meeting_ = 0, learning_rate_ = 0;
  std::optional<double> gradient_norm_;
  LossMean loss_, loss_at_glance_;
  TrainingProgress progress_;
  std::int64_t nonfinite_recorded_ = 0;
};

}  // namespace eave
