#include "eave/trainer.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "train/budget.h"
#include "train/checkpoint.h"
#include "train/slow_watch.h"
#include "train/step_log.h"
#include "train/step_trace.h"
#include "transport/operation.h"

namespace eave {
namespace {

// How many steps a device that computes behind the host has before it, when the host asks what came of one.
constexpr std::size_t kStepsAhead = 2;
static_assert(kStepsAhead < kKeptLosses);

// A step that the host is done with. The device may still be computing.
struct Started {
  Step step;
  std::int64_t ticket = 0;                         // of its score
  std::shared_ptr<DeviceAnswer> finite = nullptr;  // of averaged gradients
};

class Loop {
 public:
  Loop(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events)
      : parts_(parts),
        plan_(plan),
        events_(events),
        loader_(parts.data, parts.sampler,
                {parts.augmentation, parts.replica.seed, parts.transport.rank(), plan.first_step, plan.steps}),
        log_(parts, plan, events, loader_),
        watch_(parts, plan, events),
        trace_(parts.trace, parts.communicator),
        most_samples_(parts.sampler.samples(0, parts.transport.rank())),
        runs_ahead_(parts.replica.device.kind() != DeviceKind::kCpu) {
    started_.reserve(kStepsAhead + 1);
  }

  TrainingResult run() {
    try {
      return run_steps();
    } catch (...) {
      log_.tell_own_records();
      throw;
    }
  }

 private:
  TrainingResult run_steps() {
    parts_.communicator.begin(parts_.replica.view());
    log_.begin(plan_.first_step > 0 ? load_progress() : TrainingProgress());
    samples_ = log_.progress().samples;
    for (std::int64_t index = plan_.first_step; index < plan_.steps; ++index) {
      run_step(index);
      if (!meets_after(index)) continue;
      const bool is_last = index + 1 == plan_.steps;
      settle(0);
      if (ends_part(index)) end_if_diverged();
      meet(index);
      if (is_last) finish();
      log_.record();
      const bool is_spent = !is_last && asks_for_budget(index) && is_budget_spent();
      if (is_spent) end_if_diverged(), finish();
      if (!ends_part(index) && !is_spent) continue;
      log_.outside_of_training([&] {
        const auto span = trace_.span(SpanKind::kEvaluation, index);
        evaluate_and_tell();
      });
      if (is_last || is_spent) break;
      if (!is_accurate_enough()) continue;
      log_.outside_of_training([this] { finish(); });
      break;
    }
    return {log_.progress(), evaluation_};
  }

  const Batch& load(std::int64_t index) {
    const auto span = trace_.span(SpanKind::kLoading, index);
    return loader_.next();
  }

  void meet(std::int64_t index) {
    const auto span = trace_.span(SpanKind::kWaiting, index);
    log_.meet();
  }

  void finish() {
    if (!is_finished_) parts_.communicator.finish();
    is_finished_ = true;
  }

  void end_if_diverged() {
    if (!plan_.diverges_together) return;
    try {
      agree(parts_.transport, [this] {
        if (!divergence_.empty()) throw Error(ExitCode::kDiverged, divergence_);
      });
    } catch (const AgreedError&) {
      finish();
      throw;
    }
  }

  // The same on all ranks, as the accuracy is.
  bool is_accurate_enough() const {
    return plan_.stop_at_accuracy > 0 && evaluation_.center.accuracy >= plan_.stop_at_accuracy;
  }

  bool is_budget_spent() {
    bool is_spent = false;
    log_.outside_of_training([&] { is_spent = eave::is_budget_spent(parts_.transport, plan_, log_.progress()); });
    return is_spent;
  }

  // All ranks come together there.
  bool meets_after(std::int64_t index) const { return ends_part(index) || asks_for_budget(index); }
  bool asks_for_budget(std::int64_t index) const {
    return (plan_.stop_after_seconds > 0 || plan_.stop_after_bytes > 0) && (index + 1) % plan_.ask_every_steps == 0;
  }

  // An evaluation follows the step.
  bool ends_part(std::int64_t index) const {
    return index + 1 == plan_.steps ||
           (plan_.evaluate_every_steps > 0 && (index + 1) % plan_.evaluate_every_steps == 0);
  }

  void run_step(std::int64_t index) {
    const std::int64_t in_epoch = index % parts_.sampler.steps_per_epoch();
    if (plan_.reset_on_drop && is_first_after_drop(index)) reset_to_center();
    const Batch& batch = load(index);
    const auto start = Clock::now();
    const double waited = parts_.communicator.costs().seconds_waiting;
    const auto computing = [&] {
      return seconds_between(start, Clock::now()) - parts_.communicator.costs().seconds_waiting + waited;
    };
    Step step{index, batch.samples, parts_.sampler.samples_of_all_ranks(in_epoch),
              parts_.schedule.learning_rate(samples_)};
    samples_ += step.samples_everywhere;
    step.ahead = parts_.replica.optimizer.ahead(step.learning_rate);
    before_gradients(step);
    if (parts_.transport.rank() >= parts_.sampler.ranks()) return account(step, {});
    Started started{step, compute_gradients(batch, step)};
    if (!runs_ahead_ || parts_.communicator.wants_loss()) started.step.loss_sum = score(started).loss_sum;
    started.finite = apply_update(started.step);
    started_.push_back(started);
    settle(runs_ahead_ ? kStepsAhead : 0);
    if (plan_.slow_factor > 1) stretch(index, computing);
    watch_.add(index, computing(), batch.samples == most_samples_);
    log_.glance();
  }

  Score score(const Started& started) { return parts_.replica.model.score(started.step.samples, started.ticket); }

  // The accounts of the steps that were started, but for the last few: what came of them is known.
  void settle(std::size_t rest) {
    while (started_.size() > rest) {
      const Started started = started_.front();
      started_.erase(started_.begin());
      settle(started);
    }
  }

  void settle(const Started& started) {
    const Score score = this->score(started);
    if (started.finite && !started.finite->get()) {
      log_.tell_records();
      throw AgreedError(ExitCode::kDiverged, describe_divergence(started.step));
    }
    account(started.step, score);
    if (std::isfinite(score.loss_sum)) return;
    if (!plan_.diverges_together) throw Error(ExitCode::kDiverged, describe_divergence(started.step));
    if (divergence_.empty()) divergence_ = describe_divergence(started.step);
  }

  void account(const Step& step, const Score& score) {
    log_.add(step, score);
    if ((step.index + 1) % plan_.log_every_steps == 0 && !meets_after(step.index)) log_.record();
  }

  // From the samples alone: a run that is resumed here sees the drop too.
  bool is_first_after_drop(std::int64_t index) const {
    if (index == 0) return false;
    const std::int64_t seen = samples_, steps = parts_.sampler.steps_per_epoch();
    const std::int64_t before = seen - parts_.sampler.samples_of_all_ranks((index - 1) % steps);
    return parts_.schedule.drops(seen) > parts_.schedule.drops(before);
  }

  void reset_to_center() {
    parts_.communicator.reset_to_center(parts_.replica.view());
    if (std::int64_t* count = parts_.replica.optimizer.update_count()) *count = 0;  // it corrects for beginning at 0
  }

  void before_gradients(const Step& step) {
    const auto span = trace_.span(SpanKind::kUpdate, step.index);
    parts_.communicator.before_gradients(step);
  }

  std::optional<Pull> before_update(const Step& step) {
    const auto span = trace_.span(SpanKind::kUpdate, step.index);
    return parts_.communicator.before_update(step);
  }

  // Returns the ticket for the score.
  std::int64_t compute_gradients(const Batch& batch, const Step& step) {
    const auto span = trace_.span(SpanKind::kGradients, step.index);
    Replica& replica = parts_.replica;
    std::function<void(Slice)> ready;
    if (parts_.communicator.wants_gradients()) {
      ready = [this](Slice part) { parts_.communicator.gradient_ready(part); };
    }
    return replica.model.train(batch, replica.seed, replica.parameters.slice(), replica.statistics.slice(),
                               replica.gradients.slice(), parts_.communicator.gradient_weight(step), ready);
  }

  // Returns whether averaged gradients were finite.
  std::shared_ptr<DeviceAnswer> apply_update(const Step& step) {
    Replica& replica = parts_.replica;
    const std::optional<Pull> pull = before_update(step);
    const auto span = trace_.span(SpanKind::kUpdate, step.index);
    std::shared_ptr<DeviceAnswer> finite;
    if (parts_.traits.averages_gradients) finite = replica.device.all_finite(gradients_of_last_tensor());
    if (parts_.communicator.updates(step)) {
      replica.optimizer.update(replica.parameters.slice(), replica.gradients.slice(), step.learning_rate, pull);
    } else if (pull) {
      replica.device.pull_parameters(replica.parameters.slice(), *pull, step.ahead);
    }
    parts_.communicator.after_update(step);
    return finite;
  }

  TrainingProgress load_progress() {
    const TrainingProgress progress = load_checkpoint(plan_.checkpoint_directory, parts_);
    EAVE_CHECK(progress.steps == plan_.first_step, "the checkpoint is that of the plan's first step");
    return progress;
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

  template <class Seconds>
  void stretch(std::int64_t index, Seconds computing) const {
    const auto span = trace_.span(SpanKind::kSlowed, index);
    parts_.replica.device.wait();
    std::this_thread::sleep_for(std::chrono::duration<double>(computing() * (plan_.slow_factor - 1)));
  }

  void evaluate_and_tell() {
    log_.tell_records();
    watch_.meet();
    const TrainingProgress& progress = log_.progress();
    evaluation_ = evaluate(parts_, plan_);
    evaluation_.step = progress.steps;
    evaluation_.samples = progress.samples;
    evaluation_.epoch = log_.epochs();
    evaluation_.seconds = progress.seconds;
    if (events_.evaluation) events_.evaluation(evaluation_);
    if (!std::isfinite(evaluation_.center.loss)) {
      finish();
      throw AgreedError(ExitCode::kDiverged, "training diverged: the test loss after step " +
                                                 std::to_string(progress.steps) +
                                                 " is not finite; try a smaller --lr, or warm-up");
    }
    if (!plan_.checkpoint_directory.empty()) save_checkpoint(plan_.checkpoint_directory, parts_, progress);
  }

  const TrainingParts& parts_;
  const TrainingPlan& plan_;
  const TrainingEvents& events_;
  Loader loader_;
  StepLog log_;
  SlowWatch watch_;
  const StepTrace trace_;
  const std::int64_t most_samples_;  // of this rank in a step
  const bool runs_ahead_;
  std::int64_t samples_ = 0;  // of all ranks, in the steps that were started
  std::vector<Started> started_;
  std::string divergence_;  // of this rank's loss, the first time
  bool is_finished_ = false;
  EvaluationRecord evaluation_;
};

}  // namespace

TrainingResult train(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events) {
  return Loop(parts, plan, events).run();
}

}  // namespace eave
