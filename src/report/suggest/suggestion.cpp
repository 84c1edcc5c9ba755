#include "report/suggest/suggestion.h"

#include <algorithm>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/plan/plan_ranking.h"

namespace eave {
namespace {

// The bounds of samples_per_second: the plan may be wrong by the model's error, or by that of a run's plan.
double low(const Trial& trial) {
  return trial.is_measured
             ? trial.samples_per_second
             : std::min(trial.corrected(), trial.samples_per_second / (1 + model_error(trial.method.pattern)));
}
double high(const Trial& trial) {
  if (trial.is_measured) return trial.samples_per_second;
  return trial.samples_per_second *
         std::max(1 + model_error(trial.method.pattern), 1 / (1 + std::min(trial.of_run.error, 0.0)));
}

// A measurement tells more than a plan; of both the smaller tau keeps replicas nearer to each other. Other options have
// no part in the speed, so the score decides.
bool is_rather_advised(const Trial& one, const Trial& other) {
  if (one.is_measured != other.is_measured) return one.is_measured;
  if (one.method.tau != other.method.tau) return one.method.tau < other.method.tau;
  return one.goodness && (!other.goodness || *one.goodness > *other.goodness);
}

// Chooses among the trials of one method those whose exchanges cost little, else the fastest tau.
const Trial* best_period(const std::vector<Trial>& trials, const std::string& method) {
  const Trial *frugal = nullptr, *fastest = nullptr;
  const auto may_be_advised = [&](const Trial& trial) { return trial.method.name == method && trial.why_not.empty(); };
  for (const Trial& trial : trials) {
    if (!may_be_advised(trial)) continue;
    if (trial.exchange_share <= kLittleWaiting && (!frugal || is_rather_advised(trial, *frugal))) frugal = &trial;
    if (!fastest || trial.samples_per_second > fastest->samples_per_second) fastest = &trial;
  }
  if (frugal || !fastest) return frugal;
  // Trials with that tau differ in speed only by chance.
  const Trial* best = fastest;
  for (const Trial& trial : trials) {
    const bool is_alike = trial.is_measured == fastest->is_measured && trial.method.tau == fastest->method.tau;
    if (may_be_advised(trial) && is_alike && is_rather_advised(trial, *best)) best = &trial;
  }
  return best;
}

// The best method besides the reference; nullptr if there is none that may be advised. A method that is as fast as
// others within the error is preferred if it comes earlier among the trials.
const Trial* best_other(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    if (trials[i].method.name == trials.front().method.name) continue;
    const Trial* const trial = best_period(trials, trials[i].method.name);
    if (trial && (!best || low(*trial) > high(*best))) best = trial;
  }
  return best;
}

bool gains(const Trial& trial, double alone) { return low(trial) >= kLeastSpeed * alone; }

// nullptr: one rank.
const Trial* choose(const std::vector<Trial>& trials, double alone) {
  const Trial& reference = trials.front();
  const Trial* const other = best_other(trials);
  const bool is_well = reference.why_not.empty() && gains(reference, alone);
  if (other && gains(*other, alone)) {
    const bool is_far =
        other->corrected() >= kLeastGain * reference.samples_per_second && low(*other) > high(reference);
    if (is_far || !is_well) return other;
  }
  return is_well ? &reference : nullptr;
}

// Why the fastest plan that would gain is not believed; "" if none would gain.
std::string doubt_about_one_rank(const std::vector<Trial>& trials, double alone) {
  const Trial* fastest = nullptr;
  for (const Trial& trial : trials) {
    if (trial.is_measured || !trial.why_not.empty() || trial.samples_per_second < kLeastSpeed * alone) continue;
    if (!fastest || trial.samples_per_second > fastest->samples_per_second) fastest = &trial;
  }
  return fastest ? plan_error_text(*fastest) : "";
}

std::vector<Trial> judged_trials(const SuggestQuestion& question) {
  std::vector<Trial> trials = trials_of(question);
  for (Trial& trial : trials) {
    const Quality quality = quality_of(question, trial.method);
    trial.why_not = quality.why_not;
    trial.goodness = quality.goodness;
  }
  return trials;
}

RateAdvice rate_of(const SuggestQuestion& question, const Suggestion& suggestion) {
  const SuggestRun& run = repeated_run(question, suggestion);
  const Quality quality = suggestion.chosen ? quality_of(question, suggestion.chosen->method) : Quality();
  const bool averages = suggestion.chosen && suggestion.chosen->method.pattern == ExchangePattern::kGradientSums;
  return rate_advice({.settings = run.record.settings,
                      .workers_before = run.plan->workers,
                      .averaged_before = run.plan->pattern == ExchangePattern::kGradientSums,
                      .workers = suggestion.ranks,
                      .averages = averages,
                      .best_rate = quality.best_rate,
                      .diverged_rates = quality.diverged_rates});
}

}  // namespace

std::string name_of(const PlanMethod& method) {
  std::string name = title_of(method, 1);
  for (const auto& [option, value] : method.options) name += ", " + option + " " + value;
  return name;
}

bool has_period(const PlanMethod& method) { return title_of(method, 1) != method.name; }

const SuggestRun& repeated_run(const SuggestQuestion& question, const Suggestion& suggestion) {
  const bool is_measured = suggestion.chosen && suggestion.chosen->is_measured;
  return question.runs[is_measured ? suggestion.chosen->measured_by : question.basis];
}

Suggestion suggest(const SuggestQuestion& question) {
  Suggestion suggestion;
  suggestion.metric = question.runs[question.basis].record.metric.name;
  const AloneRate alone = alone_rate(question);
  suggestion.alone = alone.samples_per_second;
  suggestion.trials = judged_trials(question);
  const Trial* const chosen = choose(suggestion.trials, suggestion.alone);
  if (chosen) {
    using enum Suggestion::Answer;
    suggestion.answer = chosen->method.name == question.methods.front().name ? kAllreduce : kMethod;
    suggestion.ranks = question.ranks;
    suggestion.chosen = *chosen;
  } else {
    suggestion.doubt = doubt_about_one_rank(suggestion.trials, suggestion.alone);
  }
  suggestion.rate = rate_of(question, suggestion);
  const Trial* const other = best_other(suggestion.trials);
  suggestion.reasons = reasons_for(question, suggestion, alone, other);
  suggestion.unknown = unknown_of(question, suggestion);
  SuggestQuestion elsewhere = question;
  for (const double factor : {0.1, 10.0}) {
    if (!is_network_assumed(question)) break;
    elsewhere.report.network.bytes_per_second = factor * question.report.network.bytes_per_second;
    const std::vector<Trial> trials = judged_trials(elsewhere);
    const Trial* const then = choose(trials, suggestion.alone);
    const std::string name = then ? name_of(then->method) : "one rank";
    if (name == (chosen ? name_of(chosen->method) : "one rank")) continue;
    suggestion.unknown.push_back("with links of " + bits_per_second_text(elsewhere.report.network.bytes_per_second) +
                                 " the answer would be " + name);
  }
  if (chosen && suggestion.answer == Suggestion::Answer::kMethod && !quality_of(question, chosen->method).is_known)
    suggestion.to_compare = {chosen->method};
  return suggestion;
}

}  // namespace eave
