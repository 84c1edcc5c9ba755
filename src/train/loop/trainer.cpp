#include "eave/trainer.h"

#include <cmath>
#include <optional>
#include <vector>

#include "eave/agreement.h"
#include "guard/leave.h"
#include "guard/rank_progress.h"
#include "train/loop/budget.h"
#include "train/loop/consensus_average.h"
#include "train/loop/step_runner.h"
#include "train/saving/checkpoint_load.h"
#include "train/saving/checkpoints.h"
#include "train/watch/replica_watch.h"

namespace eave {
namespace {

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
        replicas_(parts, plan, events),
        trace_(parts.trace, parts.communicator),
        checkpoints_(parts, plan, events),
        steps_(parts, plan, events, loader_, log_, watch_, trace_),
        shares_(plan) {}

  TrainingResult run() {
    try {
      return run_steps();
    } catch (const AgreedError& error) {
      // --on-nonfinite rollback goes back to it, however long the disk takes.
      if (error.code() == ExitCode::kDiverged) checkpoints_.complete();
      log_.tell_own_records();
      throw;
    } catch (...) {
      log_.tell_own_records();
      throw;
    }
  }

 private:
  TrainingResult run_steps() {
    begin();
    const bool has_ended = plan_.has_ended || plan_.first_step == plan_.steps;
    if (has_ended) end_again();
    for (std::int64_t index = plan_.first_step; index < plan_.steps && !has_ended; ++index) {
      if (parts_.leave && !parts_.leave->may_begin(index) && can_meet_after(index)) leave();
      be_in(Section::kStep, index + 1);
      const bool is_over = run_step(index);
      keep_checkpoint(index, is_over);
      if (is_over) break;
    }
    TrainingProgress progress = log_.progress();
    progress.repaired = replicas_.repaired();
    return {progress, evaluation_, checkpoints_.saved(), checkpoints_.failed(), checkpoints_.seconds()};
  }

  void begin() {
    std::optional<ElasticResumption> elastic;
    if (plan_.elastic_step > 0) elastic.emplace(parts_, plan_);
    place_gradients();
    parts_.communicator.begin(parts_.replica.view());
    const TrainingProgress progress = elastic                ? elastic->load()
                                      : plan_.first_step > 0 ? load_progress()
                                                             : TrainingProgress();
    replicas_.begin(progress);
    log_.begin(progress);
    checkpoints_.begin(progress);
    steps_.begin(progress);
    check_meetings();
  }

  bool can_meet_after(std::int64_t steps) const { return parts_.communicator.next_meeting(steps) == steps; }

  // Checks every step. A replay has few steps; a run that only a time limits may have 10^15.
  void check_meetings() const {
    if (!parts_.communicator.follows_recorded_order()) return;
    for (std::int64_t steps = plan_.first_step + 1; steps < plan_.steps; ++steps) {
      const bool meets = meets_after(steps - 1) || checkpoints_.meets_after(steps) ||
                         (parts_.average != nullptr && parts_.average->is_due(steps - 1));
      if (!meets || can_meet_after(steps)) continue;
      throw AgreedError(ExitCode::kUsage,
                        "ranks cannot wait for each other after step " + std::to_string(steps) +
                            " of this replay, because one of them needs an exchange that another makes in a later "
                            "step; give the recorded run's --evaluate-every, --checkpoint-every and --stop-after-time");
    }
  }

  // If the ranks of one host share memory, averaged gradients are added up in place there. This happens here, and not
  // when the replica is made, because here all ranks are known to have come.
  void place_gradients() {
    if (!parts_.traits.averages_gradients) return;
    Buffer& gradients = parts_.replica.gradients;
    const Slice lent = parts_.transport.lend(gradients.size());
    if (!lent.empty()) gradients = Buffer(lent.data(), lent.size(), [](float*) noexcept {});
  }

  // Returns whether this was the run's last step: the plan's last, or a limit was reached.
  bool run_step(std::int64_t index) {
    const bool meets = meets_after(index);
    steps_.run(index, meets);
    replicas_.after_step(index);
    if (parts_.average != nullptr) parts_.average->after_step(index, parts_.communicator);
    if (!meets) return false;
    const bool is_last = index + 1 == plan_.steps;
    steps_.settle();
    meet(index);
    if (ends_part(index)) end_if_diverged();
    if (is_last) finish();
    log_.record();
    const bool asks = !is_last && asks_for_budget(index);
    const bool is_spent = asks && is_budget_spent_on_any_rank();
    const bool is_due = asks && !is_spent && shares_.is_due(index, reached_);
    if (is_spent || is_due) end_if_diverged();
    if (is_spent) finish();
    if (!ends_part(index) && !is_spent && !is_due) return false;
    log_.outside_of_training([&] {
      const auto span = trace_.span(SpanKind::kEvaluation, index);
      be_in(Section::kEvaluation, index + 1);
      evaluate_and_tell(is_last || is_spent);
    });
    if (is_last || is_spent) return true;
    reached_.accuracy = evaluation_.center.accuracy;
    reached_.loss = evaluation_.center.loss;
    if (!is_enough(plan_, reached_)) return false;
    log_.outside_of_training([this] { finish(); });
    return true;
  }

  // Saves a checkpoint if one is due. The last step's checkpoint is complete, so that a run can go on from it or end
  // again.
  void keep_checkpoint(std::int64_t index, bool is_over) {
    const bool is_evaluated = evaluation_.step == index + 1;
    if (!checkpoints_.is_on() || !(is_over || is_evaluated || checkpoints_.meets_after(index + 1))) return;
    steps_.settle();
    // The last step, and a step with an evaluation, have already done this.
    if (!is_over && !is_evaluated) end_if_diverged();
    log_.outside_of_training([&] {
      be_in(Section::kCheckpoint, index + 1);
      TrainingProgress progress = progress_to_save();
      const bool is_due = checkpoints_.meets_after(index + 1) && checkpoints_.meet(progress);
      if (is_over || is_evaluated || is_due) progress.repaired = tell_and_compare();
      if (is_over) {
        checkpoints_.save_now(progress, index + 1 < plan_.steps ? to_text(reached_) : "");
      } else if (is_evaluated || is_due) {
        checkpoints_.save(progress);
      }
    });
  }

  // The run has already ended at this checkpoint: only finishes and evaluates again.
  void end_again() {
    log_.outside_of_training([this] {
      finish();
      evaluate_and_tell(true);
    });
  }

  // Collective: all ranks leave before the same step.
  [[noreturn]] void leave() {
    steps_.settle();
    end_if_diverged();
    TrainingProgress progress = progress_to_save();
    bool is_kept = progress.steps == plan_.first_step;
    log_.outside_of_training([&] {
      progress.repaired = tell_and_compare();
      be_in(Section::kCheckpoint, progress.steps);
      is_kept = is_kept || (checkpoints_.is_on() && checkpoints_.save_now(progress));
      finish();
    });
    const std::string where = "left on request after step " + std::to_string(progress.steps);
    if (!is_kept) throw AgreedError(ExitCode::kInputOutput, where + ", but its state could not be saved");
    throw AgreedError(ExitCode::kLeftOnRequest,
                      where + (plan_.can_resume ? "; run it again with --resume auto to go on"
                                                : "; a replay cannot go on from there: run it again with --overwrite, "
                                                  "from its beginning"));
  }

  void be_in(Section section, std::int64_t step) const {
    if (parts_.rank_progress) parts_.rank_progress->enter(section, step);
  }

  void meet(std::int64_t index) {
    const auto span = trace_.span(SpanKind::kWaiting, index);
    log_.meet();
  }

  void finish() {
    if (!is_finished_) parts_.communicator.finish();
    is_finished_ = true;
  }

  // Before a checkpoint, whose vectors must be equal on all ranks. Returns how many were repaired.
  std::int64_t tell_and_compare() {
    log_.tell_records();
    replicas_.meet();
    return replicas_.repaired();
  }

  TrainingProgress progress_to_save() const {
    TrainingProgress progress = log_.progress_to_save();
    progress.nonfinite_in_a_row = steps_.nonfinite_in_a_row();
    return progress;
  }

  void end_if_diverged() {
    const bool may_wait = plan_.diverges_together || (parts_.leave && plan_.on_nonfinite == OnNonfinite::kSkip);
    if (!may_wait) return;
    try {
      log_.outside_of_training([this] {
        agree(parts_.transport, [this] {
          if (!steps_.divergence().empty()) throw Error(ExitCode::kDiverged, steps_.divergence());
        });
      });
    } catch (const AgreedError&) {
      log_.tell_records();
      finish();
      throw;
    }
  }

  // Collective.
  bool is_budget_spent_on_any_rank() {
    log_.outside_of_training([this] { reached_ = ask_for_costs(parts_.transport, log_.progress()); });
    return is_budget_spent(plan_, reached_);
  }

  // Whether all ranks meet after this step.
  bool meets_after(std::int64_t index) const { return ends_part(index) || asks_for_budget(index); }
  bool asks_for_budget(std::int64_t index) const {
    if (plan_.stop_after_seconds <= 0 && plan_.stop_after_bytes <= 0) return false;
    return (index + 1) % plan_.ask_every_steps == 0 || (shares_.asks_after(index) && can_meet_after(index + 1));
  }

  // Whether an evaluation follows this step.
  bool ends_part(std::int64_t index) const {
    return index + 1 == plan_.steps || shares_.ends_share(index) ||
           (plan_.evaluate_every_steps > 0 && (index + 1) % plan_.evaluate_every_steps == 0);
  }

  TrainingProgress load_progress() {
    const TrainingProgress progress = load_checkpoint(plan_.checkpoints, plan_.first_step, parts_, plan_.plugin);
    EAVE_CHECK(progress.steps == plan_.first_step, "the checkpoint is that of the plan's first step");
    return progress;
  }

  void evaluate_and_tell(bool is_last) {
    log_.tell_records();
    watch_.meet();
    replicas_.meet();
    const TrainingProgress& progress = log_.progress();
    evaluation_ = evaluate(parts_, plan_, is_last);
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
  }

  const TrainingParts& parts_;
  const TrainingPlan& plan_;
  const TrainingEvents& events_;
  Loader loader_;
  StepLog log_;
  SlowWatch watch_;
  ReplicaWatch replicas_;
  const StepTrace trace_;
  Checkpoints checkpoints_;
  StepRunner steps_;
  EvaluationShares shares_;
  bool is_finished_ = false;
  EvaluationRecord evaluation_;
  BudgetState reached_;
};

}  // namespace

Replica::Replica(Model& a_model, Optimizer& an_optimizer, std::uint64_t a_seed, Device& a_device)
    : device(a_device),
      model(a_model),
      optimizer(an_optimizer),
      seed(a_seed),
      parameters(device.allocate(static_cast<std::size_t>(a_model.parameter_size()))),
      gradients(device.allocate(static_cast<std::size_t>(a_model.parameter_size()))),
      statistics(device.allocate(static_cast<std::size_t>(a_model.statistics_size()))),
      other_statistics(device.allocate(static_cast<std::size_t>(a_model.statistics_size()))) {
  if (device.kind() == DeviceKind::kCpu) {  // needs no copy of the parameters in host memory
    model.initialise(seed, parameters.slice(), statistics.slice());
    return;
  }
  std::vector<float> first(parameters.size()), first_statistics(statistics.size());
  model.initialise(seed, first, first_statistics);
  device.write(parameters.slice(), first);
  device.write(statistics.slice(), first_statistics);
}

ReplicaView Replica::view() {
  return {parameters.slice(), gradients.slice(), statistics.slice(),
          optimizer.state(),  &device,           optimizer.update_count()};
}

TrainingResult train(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events) {
  return Loop(parts, plan, events).run();
}

}  // namespace eave
