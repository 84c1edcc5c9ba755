#include "train/loop/step_log.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "eave/decorators.h"

namespace eave {
namespace {

// Rank 0 reports its own records within this time.
constexpr double kSecondsUntold = 1.0;
constexpr std::chrono::milliseconds kBetweenGlances{200};

std::string pack(const std::vector<StepRecord>& records) {
  return {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(StepRecord)};
}

std::vector<StepRecord> unpack(const std::string& bytes) {
  std::vector<StepRecord> records(bytes.size() / sizeof(StepRecord));
  if (!records.empty()) std::memcpy(records.data(), bytes.data(), bytes.size());
  return records;
}

}  // namespace

void LossMean::add(const Score& score) {
  sum_ += score.loss_sum;
  samples_ += score.samples;
}

double LossMean::take() {
  const double samples = static_cast<double>(std::exchange(samples_, 0)), sum = std::exchange(sum_, 0);
  return samples > 0 ? sum / samples : std::numeric_limits<double>::quiet_NaN();
}

StepLog::Totals StepLog::Totals::operator-(const Totals& other) const {
  return {loading - other.loading, waiting - other.waiting, exchanging - other.exchanging, bytes - other.bytes,
          bytes_replied - other.bytes_replied};
}

StepLog::StepLog(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events,
                 const Loader& loader)
    : parts_(parts), most_records_(plan.records_untold), events_(events), loader_(loader) {
  records_.reserve(static_cast<std::size_t>(std::min<std::int64_t>(most_records_, plan.steps - plan.first_step)));
}

void StepLog::begin(const TrainingProgress& so_far) {
  progress_ = so_far;
  const UnrecordedSteps& rest = so_far.unrecorded;
  loss_.add({.loss_sum = rest.loss_sum, .samples = rest.samples});
  logged_seconds_ = progress_.seconds - rest.seconds;
  nonfinite_recorded_ = progress_.nonfinite - rest.nonfinite;
  last_ = totals() - Totals{rest.loading, rest.waiting, rest.exchanging, rest.bytes, 0};
  resume();
}

TrainingProgress StepLog::progress_to_save() const {
  const Totals rest = totals() - last_;
  TrainingProgress progress = progress_;
  progress.unrecorded = {loss_.sum(),
                         loss_.samples(),
                         progress_.seconds - logged_seconds_,
                         rest.loading,
                         rest.waiting + seconds_meeting_,
                         rest.exchanging,
                         rest.bytes + rest.bytes_replied,
                         progress_.nonfinite - nonfinite_recorded_};
  return progress;
}

void StepLog::add(const Step& step, const Score& score, bool whole, const std::optional<double>& gradient_norm) {
  progress_.samples += step.samples_everywhere;
  progress_.steps = step.index + 1;
  loss_.add(score);
  loss_at_glance_.add(score);
  learning_rate_ = step.learning_rate;
  gradient_norm_ = gradient_norm;
  if (!whole) ++progress_.nonfinite;
}

void StepLog::glance() {
  const auto now = Clock::now();
  if (!events_.glance || now - glanced_ < kBetweenGlances) return;
  glanced_ = now;
  events_.glance(record_of_now(loss_at_glance_));
}

void StepLog::record() {
  const Totals now = totals();
  StepRecord record = record_of_now(loss_);
  record.loading = now.loading - last_.loading;
  record.waiting = now.waiting - last_.waiting + std::exchange(seconds_meeting_, 0);
  record.exchanging = now.exchanging - last_.exchanging;
  record.computing = std::max(0.0, progress_.seconds - logged_seconds_ - record.loading - record.waiting);
  record.bytes = now.bytes - last_.bytes + now.bytes_replied - last_.bytes_replied;
  record.nonfinite = progress_.nonfinite - std::exchange(nonfinite_recorded_, progress_.nonfinite);
  last_ = now;
  logged_seconds_ = progress_.seconds;
  progress_.waiting += record.waiting;
  progress_.bytes += record.bytes;
  if (parts_.transport.rank() < parts_.sampler.ranks()) {
    records_.push_back(record);
    if (events_.step) events_.step(record);
  }
  if (++records_since_meeting_ == most_records_) {
    outside_of_training([this] { tell_records(); });
  } else if (is_late_at_next(record)) {
    outside_of_training([this] { tell_own_records(); });
  }
}

void StepLog::meet() {
  const auto start = Clock::now();
  parts_.transport.all_gather("");
  seconds_meeting_ += std::chrono::duration<double>(Clock::now() - start).count();
}

void StepLog::outside_of_training(const std::function<void()>& action) {
  pause();
  const Totals before = totals();
  action();
  const std::int64_t replied = last_.bytes_replied;
  last_ = totals() - (before - last_);
  last_.bytes_replied = replied;
  resume();
}

void StepLog::tell_records() {
  tell_own_records();
  const std::vector<std::string> packed = parts_.transport.gather(pack(records_));
  records_.clear();
  records_since_meeting_ = 0;
  if (!events_.records) return;
  for (std::size_t rank = 1; rank < packed.size(); ++rank)
    events_.records(static_cast<int>(rank), unpack(packed[rank]));
}

void StepLog::tell_own_records() {
  if (parts_.transport.rank() != 0) return;
  told_seconds_ = progress_.seconds;
  if (!records_.empty() && events_.records) events_.records(0, records_);
  records_.clear();
}

double StepLog::epochs() const {
  return static_cast<double>(progress_.samples) / static_cast<double>(parts_.data.train->size());
}

StepLog::Totals StepLog::totals() const {
  const TransportCounters counters = parts_.counting.counters();
  return {loader_.seconds_waited(), parts_.communicator.costs().seconds_waiting, counters.seconds,
          counters.bytes - counters.bytes_replied, counters.bytes_replied};
}

void StepLog::pause() { progress_.seconds += std::chrono::duration<double>(Clock::now() - interval_start_).count(); }

StepRecord StepLog::record_of_now(LossMean& loss) {
  pause();
  resume();
  StepRecord record;
  record.step = progress_.steps;
  record.samples = progress_.samples;
  record.epoch = epochs();
  record.loss = loss.take();
  record.learning_rate = learning_rate_;
  record.gradient_norm = gradient_norm_;
  record.seconds = progress_.seconds;
  return record;
}

// Whether rank 0's own records would be late if they waited for the next record, which presumably takes as long as this
// one. Records of other ranks wait until the ranks meet: meeting for them would delay ranks that train at their own
// pace.
bool StepLog::is_late_at_next(const StepRecord& record) const {
  const double taken = record.computing + record.waiting + record.loading;
  return parts_.transport.rank() == 0 && record.seconds + taken - told_seconds_ >= kSecondsUntold;
}

}  // namespace eave
