#include "eave/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "base/number_text.h"
#include "train/checkpoint.h"

namespace eave {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr int kMostRecords = 1000;      // that wait for being told to rank 0
constexpr double kSecondsUntold = 1.0;  // of what rank 0 has recorded itself
constexpr std::chrono::milliseconds kBetweenGlances{200};

// The mean loss of the samples of some steps.
class LossMean {
 public:
  void add(const Score& score) {
    sum_ += score.loss_sum;
    samples_ += score.samples;
  }
  // NaN where there was no sample. Begins anew.
  double take() {
    const double samples = static_cast<double>(std::exchange(samples_, 0)), sum = std::exchange(sum_, 0);
    return samples > 0 ? sum / samples : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  double sum_ = 0;
  std::int64_t samples_ = 0;
};

// Running totals; a record is the difference between two of them.
struct Totals {
  double loading = 0, waiting = 0, exchanging = 0;
  std::int64_t bytes = 0, bytes_replied = 0;
};

Totals operator-(const Totals& a, const Totals& b) {
  return {a.loading - b.loading, a.waiting - b.waiting, a.exchanging - b.exchanging, a.bytes - b.bytes,
          a.bytes_replied - b.bytes_replied};
}

std::string pack(const std::vector<StepRecord>& records) {
  return {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(StepRecord)};
}

std::vector<StepRecord> unpack(const std::string& bytes) {
  std::vector<StepRecord> records(bytes.size() / sizeof(StepRecord));
  if (!records.empty()) std::memcpy(records.data(), bytes.data(), bytes.size());
  return records;
}

bool is_finite(ConstSlice values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

class Loop {
 public:
  Loop(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events)
      : parts_(parts),
        plan_(plan),
        events_(events),
        loader_(parts.data, parts.sampler,
                {parts.augmentation, parts.replica.seed, parts.transport.rank(), plan.first_step, plan.steps}) {
    records_.reserve(kMostRecords);
  }

  TrainingResult run() {
    try {
      return run_steps();
    } catch (...) {
      tell_own_records();
      throw;
    }
  }

 private:
  TrainingResult run_steps() {
    parts_.communicator.begin(parts_.replica.view());
    if (plan_.first_step > 0) resume_from_checkpoint();
    last_ = totals();
    resume();
    for (std::int64_t index = plan_.first_step; index < plan_.steps; ++index) {
      run_step(index);
      const bool is_last = index + 1 == plan_.steps;
      const bool due = plan_.evaluate_every_steps > 0 && (index + 1) % plan_.evaluate_every_steps == 0;
      if (is_last || due) meet();
      if (is_last) parts_.communicator.finish();
      if (is_last || due || (index + 1) % plan_.log_every_steps == 0) log();
      if (is_last || due) outside_of_training([&] { evaluate_and_tell(index + 1); });
    }
    return {progress_, evaluation_};
  }

  void run_step(std::int64_t index) {
    const std::int64_t in_epoch = index % parts_.sampler.steps_per_epoch();
    const Batch& batch = loader_.next();
    const auto start = Clock::now();
    const double waited = parts_.communicator.costs().seconds_waiting;
    Step step{index, batch.samples, parts_.sampler.samples_of_all_ranks(in_epoch),
              parts_.schedule.learning_rate(progress_.samples)};
    step.ahead = parts_.replica.optimizer.ahead(step.learning_rate);
    parts_.communicator.before_gradients(step);
    const Score score = compute_gradients(batch, step);
    step.loss_sum = score.loss_sum;
    apply_update(step);
    progress_.samples += step.samples_everywhere;
    progress_.steps = index + 1;
    loss_.add(score);
    loss_at_glance_.add(score);
    learning_rate_ = step.learning_rate;
    if (!std::isfinite(score.loss_sum)) throw Error(ExitCode::kDiverged, describe_divergence(step));
    const auto end = Clock::now();
    stretch(std::chrono::duration<double>(end - start).count() -
            (parts_.communicator.costs().seconds_waiting - waited));
    if (events_.glance && end - glanced_ >= kBetweenGlances) {
      glanced_ = end;
      events_.glance(record_of_now(loss_at_glance_));
    }
  }

  Score compute_gradients(const Batch& batch, const Step& step) {
    Replica& replica = parts_.replica;
    return replica.model.train(batch, replica.seed, replica.parameters.slice(), replica.statistics.slice(),
                               replica.gradients.slice(), parts_.communicator.gradient_weight(step),
                               [this](Slice part) { parts_.communicator.gradient_ready(part); });
  }

  void apply_update(const Step& step) {
    Replica& replica = parts_.replica;
    const std::optional<Pull> pull = parts_.communicator.before_update(step);
    if (parts_.traits.averages_gradients && !is_finite(gradients_of_last_tensor())) {
      tell_records();
      throw AgreedError(ExitCode::kDiverged, describe_divergence(step));
    }
    if (parts_.communicator.updates(step)) {
      replica.optimizer.update(replica.parameters.slice(), replica.gradients.slice(), step.learning_rate, pull);
    } else if (pull) {
      apply_pull(replica.parameters.slice(), *pull, step.ahead);
    }
    parts_.communicator.after_update(step);
  }

  void resume_from_checkpoint() {
    progress_ = load_checkpoint(plan_.checkpoint_directory, parts_);
    EAVE_CHECK(progress_.steps == plan_.first_step, "the checkpoint is that of the plan's first step");
    logged_seconds_ = progress_.seconds;
  }

  // A loss that is not finite makes these gradients not finite; averaged, they are so on all ranks at once.
  ConstSlice gradients_of_last_tensor() {
    const TensorInfo& last = parts_.replica.model.parameters().back();
    return parts_.replica.gradients.slice().subspan(static_cast<std::size_t>(last.offset),
                                                    static_cast<std::size_t>(last.size));
  }

  static std::string describe_divergence(const Step& step) {
    return "training diverged: the loss of step " + std::to_string(step.index + 1) + " is not finite (learning rate " +
           number_text(step.learning_rate) + "); try a smaller --lr, or warm-up";
  }

  void stretch(double computing) const {
    if (plan_.slow_factor > 1) {
      std::this_thread::sleep_for(std::chrono::duration<double>(computing * (plan_.slow_factor - 1)));
    }
  }

  Totals totals() const {
    const TransportCounters counters = parts_.counting.counters();
    return {loader_.seconds_waited(), parts_.communicator.costs().seconds_waiting, counters.seconds,
            counters.bytes - counters.bytes_replied, counters.bytes_replied};
  }

  double epochs() const {
    return static_cast<double>(progress_.samples) / static_cast<double>(parts_.data.train->size());
  }

  void pause() { progress_.seconds += seconds_since(interval_start_); }
  void resume() { interval_start_ = Clock::now(); }

  // Ranks that train on their own reach an evaluation at different times: what the fast ones wait belongs to training.
  void meet() {
    const auto start = Clock::now();
    parts_.transport.all_gather("");
    seconds_meeting_ += seconds_since(start);
  }

  StepRecord record_of_now(LossMean& loss) {
    pause();
    resume();
    StepRecord record;
    record.step = progress_.steps;
    record.samples = progress_.samples;
    record.epoch = epochs();
    record.loss = loss.take();
    record.learning_rate = learning_rate_;
    record.seconds = progress_.seconds;
    return record;
  }

  void log() {
    const Totals now = totals();
    StepRecord record = record_of_now(loss_);
    record.loading = now.loading - last_.loading;
    record.waiting = now.waiting - last_.waiting + std::exchange(seconds_meeting_, 0);
    record.exchanging = now.exchanging - last_.exchanging;
    record.computing = progress_.seconds - logged_seconds_ - record.loading - record.waiting;
    record.bytes = now.bytes - last_.bytes + now.bytes_replied - last_.bytes_replied;
    last_ = now;
    logged_seconds_ = progress_.seconds;
    progress_.waiting += record.waiting;
    progress_.bytes += record.bytes;
    records_.push_back(record);
    if (events_.step) events_.step(record);
    if (++records_since_meeting_ == kMostRecords) {
      outside_of_training([this] { tell_records(); });
    } else if (is_late_at_next(record)) {
      outside_of_training([this] { tell_own_records(); });
    }
  }

  // Were the next record, which takes as long as this one, waited for. Rank 0's alone: those of the others come when
  // the ranks meet, and to meet for them would make ranks wait that train on their own.
  bool is_late_at_next(const StepRecord& record) const {
    const double taken = record.computing + record.waiting + record.loading;
    return parts_.transport.rank() == 0 && record.seconds + taken - told_seconds_ >= kSecondsUntold;
  }

  // Neither time nor bytes of `action` are those of the steps around it, but for replies: other ranks may train.
  void outside_of_training(const std::function<void()>& action) {
    pause();
    const Totals before = totals();
    action();
    const std::int64_t replied = last_.bytes_replied;
    last_ = totals() - (before - last_);
    last_.bytes_replied = replied;
    resume();
  }

  void evaluate_and_tell(std::int64_t steps_done) {
    tell_records();
    evaluation_ = evaluate(parts_, plan_);
    evaluation_.step = steps_done;
    evaluation_.samples = progress_.samples;
    evaluation_.epoch = epochs();
    evaluation_.seconds = progress_.seconds;
    if (events_.evaluation) events_.evaluation(evaluation_);
    if (!std::isfinite(evaluation_.center.loss)) {
      throw AgreedError(ExitCode::kDiverged, "training diverged: the test loss after step " +
                                                 std::to_string(steps_done) +
                                                 " is not finite; try a smaller --lr, or warm-up");
    }
    if (!plan_.checkpoint_directory.empty()) save_checkpoint(plan_.checkpoint_directory, parts_, progress_);
  }

  void tell_records() {
    tell_own_records();
    const std::vector<std::string> packed = parts_.transport.all_gather(pack(records_));
    records_.clear();
    records_since_meeting_ = 0;
    if (parts_.transport.rank() != 0 || !events_.records) return;
    for (std::size_t rank = 1; rank < packed.size(); ++rank)
      events_.records(static_cast<int>(rank), unpack(packed[rank]));
  }

  void tell_own_records() {
    if (parts_.transport.rank() != 0) return;
    told_seconds_ = progress_.seconds;
    if (!records_.empty() && events_.records) events_.records(0, records_);
    records_.clear();
  }

  const TrainingParts& parts_;
  const TrainingPlan& plan_;
  const TrainingEvents& events_;
  Loader loader_;
  std::vector<StepRecord> records_;  // of this rank, not told yet
  int records_since_meeting_ = 0;
  double told_seconds_ = 0;
  Totals last_;
  Clock::time_point interval_start_;
  double logged_seconds_ = 0, seconds_meeting_ = 0, learning_rate_ = 0;
  LossMean loss_, loss_at_glance_;
  Clock::time_point glanced_ = Clock::now();
  TrainingProgress progress_;
  EvaluationRecord evaluation_;
};

}  // namespace

TrainingResult train(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events) {
  return Loop(parts, plan, events).run();
}

}  // namespace eave
