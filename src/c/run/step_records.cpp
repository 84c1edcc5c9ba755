#include "c/run/step_records.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/options/number_text.h"
#include "eave/check.h"
#include "eave/decorators.h"
#include "report/record/metric.h"

namespace eave {
namespace {

// Steps are counted anew if there are fewer ranks, or if this rank was behind others: a record has no more samples than
// its steps can have.
std::int64_t steps_before(const Averager& averager, const RunSettings& settings, std::int64_t samples) {
  if (samples == 0) return 0;
  const std::int64_t of_step = settings.batch * averager.ranks();
  return of_step == 0 ? averager.steps() : std::max(averager.steps(), (samples + of_step - 1) / of_step);
}

}  // namespace

StepRecords::Totals StepRecords::Totals::operator-(const Totals& other) const {
  return {waiting - other.waiting, exchanging - other.exchanging, bytes - other.bytes};
}

StepRecords::StepRecords(const Averager& averager, const RunSettings& settings, const TrainingProgress& progress,
                         const ObservedSteps& observed)
    : averager_(averager),
      train_samples_(static_cast<double>(settings.train_samples)),
      batch_(settings.batch),
      every_(settings.every),
      partial_{progress.unrecorded.waiting, progress.unrecorded.exchanging, progress.unrecorded.bytes},
      steps_(std::max(steps_before(averager, settings, progress.samples), observed.number)),
      samples_(progress.samples),
      bytes_(progress.bytes),
      nonfinite_(progress.nonfinite),
      nonfinite_told_(progress.nonfinite - progress.unrecorded.nonfinite),
      untold_(observed.untold),
      seconds_(progress.seconds),
      seconds_told_(progress.seconds - progress.unrecorded.seconds),
      loading_(progress.unrecorded.loading),
      waiting_(progress.waiting),
      learning_rate_(observed.learning_rate),
      loss_sum_(progress.unrecorded.loss_sum),
      loss_samples_(progress.unrecorded.samples) {}

StepRecords::Totals StepRecords::totals() const {
  const TransportCounters counters = averager_.counters();
  return {averager_.seconds_waiting(), counters.seconds, counters.bytes};
}

// The seconds since the last call, or since the last change of mark_.
double StepRecords::lap() {
  const Clock::time_point now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(mark_, now)).count();
}

void StepRecords::refuse_joined(std::int64_t samples) const {
  if (batch_ == 0 || samples <= batch_) return;
  throw Error(ExitCode::kUsage, "begin_step: " + count_text(samples, "sample") +
                                    " of this rank, but the run's batch is " + std::to_string(batch_) +
                                    ": open the run with the largest batch of a rank");
}

void StepRecords::before_step(const Step& step, CountedSamples counted) {
  const std::int64_t ranks = averager_.ranks();
  const bool is_even = counted == CountedSamples::kEven;
  if (batch_ > 0 && !is_even && step.samples_everywhere > batch_ * ranks) {
    throw Error(ExitCode::kUsage, "begin_step: " + count_text(step.samples_everywhere, "sample") +
                                      " on all ranks, but the run's batch of " + std::to_string(batch_) + " allows " +
                                      std::to_string(batch_ * ranks) +
                                      ": open the run with the largest batch of a rank");
  }
  complete_step();
  const double between = lap();
  if (is_paused_) {
    told_ = totals() - partial_;
    is_paused_ = false;
  } else {
    seconds_ += between;
    loading_ += between;
  }
  const std::int64_t of_even = batch_ > 0 ? batch_ : 1;
  counted_ = counted;
  samples_of_step_ = is_even ? of_even : step.samples;
  samples_everywhere_ = is_even ? of_even * ranks : step.samples_everywhere;
  loss_.reset();
}

void StepRecords::after_step(const Step& step, bool is_left_out) {
  seconds_ += lap();
  ++steps_;
  ++untold_;
  learning_rate_ = step.learning_rate;
  if (counted_ != CountedSamples::kEven) {  // with join(), the samples of all ranks are known only now
    samples_of_step_ = step.samples;
    samples_everywhere_ = step.samples_everywhere;
  }
  if (counted_ == CountedSamples::kOfThisRank)
    own_samples_ += samples_of_step_;
  else
    samples_ += samples_everywhere_;
  if (is_left_out) ++nonfinite_;
  if (!loss_ && step.loss_sum != 0 && samples_of_step_ > 0)
    loss_ = step.loss_sum / static_cast<double>(samples_of_step_);
  is_incomplete_ = true;
  if (steps_ % every_ == 0) unfinished_ = make_record();
}

StepRecord StepRecords::make_record() {
  const Totals now = totals(), of_these = since_told(now);
  const double whole = seconds_ - std::exchange(seconds_told_, seconds_);
  StepRecord record;
  record.step = steps_;
  record.samples = samples_ + own_samples_;
  record.epoch = epochs();
  record.learning_rate = learning_rate_;
  record.seconds = seconds_;
  record.loading = std::exchange(loading_, 0);
  record.waiting =
      std::clamp(of_these.waiting + std::exchange(meeting_, 0), 0.0, std::max(whole - record.loading, 0.0));
  record.exchanging = of_these.exchanging;
  record.computing = std::max(whole - record.loading - record.waiting, 0.0);
  record.bytes = of_these.bytes;
  record.nonfinite = nonfinite_ - std::exchange(nonfinite_told_, nonfinite_);
  told_ = now;
  partial_ = {};
  untold_ = 0;
  waiting_ += record.waiting;
  bytes_ += record.bytes;
  return record;
}

void StepRecords::complete_step() {
  if (!is_incomplete_) return;
  is_incomplete_ = false;
  if (loss_ && is_recordable(*loss_) && samples_of_step_ > 0) {
    loss_sum_ += *loss_ * static_cast<double>(samples_of_step_);
    loss_samples_ += samples_of_step_;
  }
  if (unfinished_) finish(*std::exchange(unfinished_, std::nullopt));
}

// Completes the record with the mean loss since the last one.
void StepRecords::finish(StepRecord record) {
  const double sum = std::exchange(loss_sum_, 0);
  const auto samples = static_cast<double>(std::exchange(loss_samples_, 0));
  record.loss = samples > 0 ? sum / samples : std::numeric_limits<double>::quiet_NaN();
  records_.push_back(record);
}

void StepRecords::record_rest() {
  complete_step();
  if (untold_ > 0) finish(make_record());
}

void StepRecords::before_meeting() {
  complete_step();
  if (is_paused_) return;
  const double between = lap();
  seconds_ += between;
  loading_ += between;
}

void StepRecords::before_consensus() {
  pause();
  consensus_ = Clock::now();
}

void StepRecords::begin_save() {
  pause();
  save_ = Clock::now();
}

void StepRecords::after_checkpoint() {
  const Clock::duration taken = Clock::now() - save_;
  ++checkpoints_;
  checkpoint_seconds_ += std::chrono::duration<double>(taken).count();
  consensus_ += taken;
}

void StepRecords::pause() {
  if (is_paused_) return;
  const double waited = lap();
  seconds_ += waited;
  meeting_ += waited;
  partial_ = totals() - told_;
  is_paused_ = true;
}

std::vector<StepRecord> StepRecords::take() { return std::exchange(records_, {}); }

void StepRecords::go_on_from(std::int64_t steps, std::int64_t samples) {
  steps_ = steps;
  samples_ = samples;
  own_samples_ = 0;
}

void StepRecords::save_to(TrainingProgress& progress) const {
  const Totals rest = since_told(totals());
  progress.seconds = seconds_;
  progress.waiting = waiting_;
  progress.bytes = bytes_;
  progress.nonfinite = nonfinite_;
  progress.unrecorded = {.loss_sum = loss_sum_,
                         .samples = loss_samples_,
                         .seconds = seconds_ - seconds_told_,
                         .loading = loading_,
                         .waiting = rest.waiting + meeting_,
                         .exchanging = rest.exchanging,
                         .bytes = rest.bytes,
                         .nonfinite = nonfinite_ - nonfinite_told_};
}

double StepRecords::seconds_evaluating() const {
  return std::chrono::duration<double>(Clock::now() - consensus_).count();
}

double StepRecords::epochs() const {
  return train_samples_ > 0 ? static_cast<double>(samples_ + own_samples_) / train_samples_ : 0;
}

}  // namespace eave
