// What a rank keeps and tells of its steps: records and the run's totals. Time runs from begin() on, but for what is
// done outside_of_training.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "eave/trainer.h"

namespace eave {

// The mean loss of the samples of some steps.
class LossMean {
 public:
  void add(const Score& score);
  // NaN where there was no sample. Begins anew.
  double take();
  double sum() const { return sum_; }
  std::int64_t samples() const { return samples_; }

 private:
  double sum_ = 0;
  std::int64_t samples_ = 0;
};

class StepLog {
 public:
  // All outlive it.
  StepLog(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events, const Loader& loader);

  void begin(const TrainingProgress& so_far);
  // A step that is done; `whole`: and was not left out. A loss that is not finite is none where steps are left out.
  void add(const Step& step, const Score& score, bool whole);
  void add_waiting(double seconds) { seconds_meeting_ += seconds; }  // that no communicator counts
  void glance();                                                     // tells how far this rank is, now and then
  void record();  // of the steps since the last one; a rank that only serves has nothing to tell

  // Collective. Ranks that train on their own reach an evaluation at different times: what the fast ones wait belongs
  // to training.
  void meet();
  // Neither time nor bytes of `action` are those of the steps around it, but for replies: other ranks may train.
  void outside_of_training(const std::function<void()>& action);

  void tell_records();      // collective: all records of all ranks, to rank 0
  void tell_own_records();  // rank 0's, the others' wait

  const TrainingProgress& progress() const { return progress_; }
  // Outside of training: with what the next record will tell of steps that are done.
  TrainingProgress progress_to_save() const;
  double epochs() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Running totals; a record is the difference between two of them.
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
  std::vector<StepRecord> records_;  // of this rank, not told yet
  int records_since_meeting_ = 0;
  Totals last_;
  Clock::time_point interval_start_, glanced_ = Clock::now();
  double told_seconds_ = 0, logged_seconds_ = 0, seconds_meeting_ = 0, learning_rate_ = 0;
  LossMean loss_, loss_at_glance_;
  TrainingProgress progress_;
  std::int64_t nonfinite_recorded_ = 0;
};

}  // namespace eave
