#include "train/loop/step_runner.h"

#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "base/divergence_text.h"
#include "eave/agreement.h"
#include "guard/leave.h"
#include "transport/core/operation.h"

namespace eave {
namespace {

// The number of steps that a background device is ahead when the host asks for the result of one.
constexpr std::size_t kStepsAhead = 2;
static_assert(kStepsAhead < kKeptLosses);

std::string describe_divergence(const Step& step, const std::string& what, std::int64_t in_a_row = 1) {
  return divergence_text(what, step.index + 1, "", in_a_row, step.learning_rate, "a smaller --lr");
}

}  // namespace

StepRunner::StepRunner(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events,
                       Loader& loader, StepLog& log, SlowWatch& watch, const StepTrace& trace)
    : parts_(parts),
      plan_(plan),
      events_(events),
      loader_(loader),
      log_(log),
      watch_(watch),
      trace_(trace),
      injection_(plan.fault, parts.replica, parts.communicator),
      pace_(plan.computing_seconds, parts.replica.gradients.slice().size()),
      most_samples_(parts.sampler.samples(0, parts.transport.rank())),
      runs_ahead_(parts.replica.device.kind() != DeviceKind::kCpu) {
  started_.reserve(kStepsAhead + 1);
  if (parts.communicator.micro_batches() > 0) micro_batches_.emplace(parts);
  if (plan.passes > 1) accumulation_.emplace(parts, plan.passes);
  if (MomentExchange* ranks = parts.communicator.moments()) parts.replica.model.normalise_over(*ranks);
  if (plan.on_nonfinite == OnNonfinite::kSkip) parts.replica.model.leave_out_nonfinite_batches();
}

void StepRunner::begin(const TrainingProgress& progress) {
  samples_ = progress.samples;
  nonfinite_in_a_row_ = progress.nonfinite_in_a_row;
}

void StepRunner::run(std::int64_t index, bool meets_after) {
  const std::int64_t in_epoch = index % parts_.sampler.steps_per_epoch();
  if (plan_.reset_on_drop && is_first_after_drop(index)) parts_.communicator.reset_to_center(parts_.replica.view());
  const Batch& batch = load(index);
  const auto start = SteadyClock::now();
  const double waited = parts_.communicator.costs().seconds_waiting;
  const auto computing = [&] {
    return seconds_between(start, SteadyClock::now()) - parts_.communicator.costs().seconds_waiting + waited;
  };
  Step step{index, batch.samples, parts_.sampler.samples_of_all_ranks(in_epoch),
            parts_.schedule.learning_rate(samples_)};
  samples_ += step.samples_everywhere;
  step.ahead = parts_.replica.optimizer.ahead(step.learning_rate);
  before_gradients(step);
  if (parts_.transport.rank() >= parts_.sampler.ranks()) return log_step({step, meets_after}, {}, true);
  Started started{step, meets_after};
  compute_gradients(batch, started);
  if (!runs_ahead_ || parts_.communicator.wants_loss()) {
    started.step.loss_sum = score(started).loss_sum;
    started.is_left_out = plan_.on_nonfinite == OnNonfinite::kSkip && !std::isfinite(started.step.loss_sum);
  }
  started.finite = apply_update(started);
  started_.push_back(started);
  settle(runs_ahead_ ? kStepsAhead : 0);
  if (plan_.slow_factor > 1) stretch(index, computing);
  log_.add_waiting(watch_.add(index, computing(), batch.samples == most_samples_));
  log_.glance();
}

const Batch& StepRunner::load(std::int64_t index) {
  const auto span = trace_.span(SpanKind::kLoading, index);
  return loader_.next();
}

Score StepRunner::score(const Started& started) {
  return started.score ? *started.score : parts_.replica.model.score(started.step.samples, started.ticket);
}

// Records the started steps whose results are known: all but the last `rest`.
void StepRunner::settle(std::size_t rest) {
  while (started_.size() > rest) {
    const Started started = started_.front();
    started_.erase(started_.begin());
    settle(started);
  }
}

void StepRunner::settle(const Started& started) {
  const Score score = this->score(started);
  const bool is_finite = !started.finite || started.finite->get();
  if (plan_.on_nonfinite == OnNonfinite::kAbort) {
    settle_or_abort(started, score, is_finite);
  } else {
    settle_or_leave_out(started, score, is_finite);
  }
}

void StepRunner::settle_or_abort(const Started& started, const Score& score, bool is_finite) {
  const Step& step = started.step;
  if (!is_finite && parts_.traits.averages_gradients) {
    log_.tell_records();
    throw AgreedError(ExitCode::kDiverged, describe_divergence(step, "loss or gradient"));
  }
  log_step(started, score, true);
  if (!std::isfinite(score.loss_sum)) return end_or_remember(describe_divergence(step, "loss"));
  if (!is_finite) end_or_remember(describe_divergence(step, "gradient"));
}

void StepRunner::settle_or_leave_out(const Started& started, const Score& score, bool is_finite) {
  const Step& step = started.step;
  const bool has_loss = std::isfinite(score.loss_sum), is_whole = has_loss && is_finite;
  log_step(started, has_loss ? score : Score(), is_whole);
  nonfinite_in_a_row_ = is_whole ? 0 : nonfinite_in_a_row_ + 1;
  if (is_whole) return;
  if (!std::exchange(has_told_nonfinite_, true) && events_.nonfinite) events_.nonfinite({step.index + 1, !has_loss});
  if (nonfinite_in_a_row_ < plan_.nonfinite_limit) return;
  diverge(describe_divergence(step, has_loss ? "gradient" : "loss", nonfinite_in_a_row_));
}

void StepRunner::end_or_remember(const std::string& what) {
  if (!plan_.diverges_together) throw Error(ExitCode::kDiverged, what);
  if (divergence_.empty()) divergence_ = what;
}

// Until all ranks leave, further steps of this kind are left out as the earlier ones were.
void StepRunner::diverge(const std::string& what) {
  if (!parts_.leave) return end_or_remember(what);
  if (divergence_.empty()) divergence_ = what;
  parts_.leave->want();
}

void StepRunner::log_step(const Started& started, const Score& score, bool whole) {
  log_.add(started.step, score, whole, whole ? started.gradient_norm : std::nullopt);
  if ((started.step.index + 1) % plan_.log_every_steps == 0 && !started.meets_after) log_.record();
}

// Depends on the samples alone, so a run that resumes here sees the drop too.
bool StepRunner::is_first_after_drop(std::int64_t index) const {
  if (index == 0) return false;
  const std::int64_t seen = samples_, steps = parts_.sampler.steps_per_epoch();
  const std::int64_t before = seen - parts_.sampler.samples_of_all_ranks((index - 1) % steps);
  return parts_.schedule.drops(seen) > parts_.schedule.drops(before);
}

void StepRunner::before_gradients(const Step& step) {
  const auto span = trace_.span(SpanKind::kUpdate, step.index);
  parts_.communicator.before_gradients(step);
}

std::optional<Pull> StepRunner::before_update(const Step& step) {
  const auto span = trace_.span(SpanKind::kUpdate, step.index);
  return parts_.communicator.before_update(step);
}

void StepRunner::compute_gradients(const Batch& batch, Started& started) {
  const Step& step = started.step;
  const auto span = trace_.span(SpanKind::kGradients, step.index);
  Replica& replica = parts_.replica;
  std::function<void(Slice)> ready;
  if (parts_.communicator.wants_gradients()) {
    ready = [&](Slice part) {
      injection_.in_gradients(step.index, part);
      pace_.ready(part.size());
      parts_.communicator.gradient_ready(part);
    };
  }
  pace_.begin();
  injection_.around(step.index, [&] {
    if (micro_batches_) {
      started.score = micro_batches_->train(batch, step, ready);
    } else if (accumulation_) {
      started.score = accumulation_->train(batch, parts_.communicator.gradient_weight(step), ready);
    } else {
      started.ticket = replica.model.train(batch, replica.seed, replica.parameters.slice(), replica.statistics.slice(),
                                           replica.gradients.slice(), parts_.communicator.gradient_weight(step), ready);
    }
  });
  if (!ready) injection_.in_gradients(step.index, replica.gradients.slice());
  pace_.end();
}

// Measures the gradient that the update will use. Returns the factor on it.
float StepRunner::clip(Started& started) {
  if (plan_.clip_norm <= 0) return 1;
  const double norm = parts_.replica.device.norm(parts_.replica.gradients.slice());
  started.gradient_norm = norm;
  return clip_factor(norm, plan_.clip_norm);
}

// Returns the answer whether all of this rank's elements moved.
std::shared_ptr<DeviceAnswer> StepRunner::apply_update(Started& started) {
  Replica& replica = parts_.replica;
  const Step& step = started.step;
  // A method without an optimizer reads the gradients itself, so they are scaled where they are.
  if (plan_.clip_norm > 0 && !parts_.traits.uses_optimizer) {
    if (const float factor = clip(started); factor != 1) replica.device.scale(replica.gradients.slice(), factor);
  }
  const std::optional<Pull> pull = before_update(step);
  const auto span = trace_.span(SpanKind::kUpdate, step.index);
  std::shared_ptr<DeviceAnswer> finite;
  if (!parts_.traits.uses_optimizer) finite = replica.device.all_finite(gradients_of_last_tensor());
  Step own = step;
  if (started.is_left_out) own.samples = 0;
  if (parts_.communicator.updates(own)) {
    const float factor = clip(started);
    finite = replica.optimizer.update(replica.parameters.slice(), replica.gradients.slice(), step.learning_rate, pull,
                                      factor);
  } else if (pull) {
    replica.device.pull_parameters(replica.parameters.slice(), *pull, step.ahead);
  }
  parts_.communicator.after_update(step);
  injection_.after_step(step.index);
  return finite;
}

// If the loss is not finite, these gradients are not finite either.
ConstSlice StepRunner::gradients_of_last_tensor() {
  const TensorInfo& last = parts_.replica.model.parameters().back();
  return parts_.replica.gradients.slice().subspan(static_cast<std::size_t>(last.offset),
                                                  static_cast<std::size_t>(last.size));
}

template <class Seconds>
void StepRunner::stretch(std::int64_t index, Seconds computing) const {
  const auto span = trace_.span(SpanKind::kSlowed, index);
  parts_.replica.device.wait();
  std::this_thread::sleep_for(std::chrono::duration<double>(computing() * (plan_.slow_factor - 1)));
}

}  // namespace eave
