// Turns the steps of an Averager into the records of metrics.jsonl. Training time runs from the first step on, but not
// from a consensus or a save, when all ranks have come to it, to the next step: in between the program evaluates or
// saves.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "c/averager.h"
#include "c/run/run_settings.h"
#include "eave/recorder.h"

namespace eave {

class StepRecords {
 public:
  // `progress`: of the run that goes on; zero if it begins. `observed`: what was saved with it.
  StepRecords(const Averager& averager, const RunSettings& settings, const TrainingProgress& progress,
              const ObservedSteps& observed);

  // These are called at the moments that StepObserver describes.
  void refuse_joined(std::int64_t samples) const;
  void before_step(const Step& step, CountedSamples counted);
  void after_step(const Step& step, bool is_left_out);
  void before_meeting();    // before the ranks wait for each other at a consensus or a save
  void before_consensus();  // when all have come
  void begin_save();
  void after_checkpoint();
  // Between a consensus and the next step, or at a failure: makes the record of the steps since the last one, if there
  // are any.
  void record_rest();
  // The mean loss of this rank's samples in the step that is under way, or else in the last one. It replaces the
  // loss_sum of the step.
  void set_loss(double mean) { loss_ = mean; }

  std::vector<StepRecord> take();  // records that are complete, since the last call
  // Ranks that take steps independently go on from the totals of all ranks.
  void go_on_from(std::int64_t steps, std::int64_t samples);

  // Sets what the records so far have counted, and what they have not told of.
  void save_to(TrainingProgress& progress) const;
  ObservedSteps observed() const { return {steps_, untold_, learning_rate_}; }

  double seconds_evaluating() const;  // since the last consensus, without the checkpoints in between
  // Totals so far.
  std::int64_t steps() const { return steps_; }
  std::int64_t samples() const { return samples_; }  // of all ranks, without own_samples()
  std::int64_t own_samples() const { return own_samples_; }
  double epochs() const;
  double seconds() const { return seconds_; }
  double waiting() const { return waiting_ + meeting_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t nonfinite() const { return nonfinite_; }
  std::int64_t checkpoints() const { return checkpoints_; }  // saved since the run was opened
  double checkpoint_seconds() const { return checkpoint_seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Totals {
    double waiting = 0, exchanging = 0;
    std::int64_t bytes = 0;
    Totals operator-(const Totals& other) const;
  };

  Totals totals() const;
  Totals since_told(const Totals& now) const { return is_paused_ ? partial_ : now - told_; }
  double lap();
  void pause();
  void complete_step();
  StepRecord make_record();
  void finish(StepRecord record);

  const Averager& averager_;
  const double train_samples_;
  const std::int64_t batch_, every_;
  std::vector<StepRecord> records_;
  bool is_paused_ = true;
  Clock::time_point mark_ = Clock::now();  // time is accounted for up to here
  Clock::time_point consensus_, save_;     // when all ranks had come to the last one
  Totals told_;                            // at the last record
  Totals partial_;                         // since then, at the pause
  std::int64_t steps_ = 0, samples_ = 0, bytes_ = 0, nonfinite_ = 0, nonfinite_told_ = 0;
  std::int64_t untold_ = 0, checkpoints_ = 0;  // steps since the last record
  double checkpoint_seconds_ = 0;
  double seconds_ = 0, seconds_told_ = 0, loading_ = 0, waiting_ = 0, learning_rate_ = 0;
  double meeting_ = 0;  // seconds of waiting at a consensus or a save, since the last record
  CountedSamples counted_ = CountedSamples::kOfAllRanks;       // in the last step
  std::int64_t own_samples_ = 0;                               // of steps that count kOfThisRank
  std::int64_t samples_of_step_ = 0, samples_everywhere_ = 0;  // samples in the last step
  std::optional<double> loss_;                                 // loss of the last step, if it is known
  bool is_incomplete_ = false;                                 // its loss may still come
  std::optional<StepRecord> unfinished_;                       // lacks the loss
  double loss_sum_ = 0;                                        // of the samples below, since the last record
  std::int64_t loss_samples_ = 0;
};

}  // namespace eave
