#include <algorithm>
#include <cmath>

#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "report/plan/plan_ranking.h"
#include "report/record/metric.h"
#include "report/record/summary.h"
#include "report/suggest/suggestion.h"

namespace eave {
namespace {

constexpr double kMuchSlower = 1.5;

std::string percent(double share) { return decimal_text(100 * share, share < 0.1 ? 1 : 0) + " %"; }
std::string milliseconds(double seconds) {
  const double value = 1e3 * seconds;
  return decimal_text(value, value < 10 ? 2 : value < 1000 ? 1 : 0) + " ms";
}
std::string times(double factor) { return decimal_text(factor, factor < 2 ? 2 : factor < 10 ? 1 : 0); }

// "10 Gbit/s between hosts (assumed)", "4.0 GB/s within the host (measured by the run)"
std::string network_text(const SuggestQuestion& question) {
  const PlanReport& report = question.report;
  if (report.network.hosts(question.ranks) == 1)
    return human_bytes(report.network.host_bytes_per_second) + "/s within the host (" + report.sources.host_rate + ")";
  return bits_per_second_text(report.network.bytes_per_second) + " between hosts (" + report.sources.rate + ")";
}

std::string figures_of(const SuggestQuestion& question, const Trial& trial) {
  return name_of(trial.method) + " takes " + milliseconds(trial.step_seconds) + " a step, of which " +
         percent(trial.waiting_share()) + " is waiting (" + trial.source +
         (trial.is_measured ? ")" : ", " + network_text(question) + ")");
}

const RunRecord& basis_of(const SuggestQuestion& question) { return question.runs[question.basis].record; }

bool is_text(const SuggestQuestion& question) { return basis_of(question).tokens_per_sample > 0; }

std::string rate_name(const SuggestQuestion& question) { return is_text(question) ? "tokens/s" : "samples/s"; }

std::string speed_sentence(const SuggestQuestion& question, const Trial& trial, const AloneRate& alone) {
  const double per_sample = is_text(question) ? static_cast<double>(basis_of(question).tokens_per_sample) : 1;
  return count_text(question.ranks, "rank") + (question.ranks == 1 ? " trains " : " train ") +
         times(trial.samples_per_second / alone.samples_per_second) + " times the " + rate_name(question) +
         " of one: " + decimal_text(trial.samples_per_second * per_sample, 0) + " (" + trial.source + ") and " +
         decimal_text(alone.samples_per_second * per_sample, 0) + " (" + alone.source + ")";
}

// "" if no rank is much slower than the others.
std::string straggler_sentence(const SuggestQuestion& question) {
  const SuggestRun& basis = question.runs[question.basis];
  const SlowestRank slowest = slowest_rank(*basis.plan);
  if (slowest.factor < kMuchSlower) return "";
  return "rank " + std::to_string(slowest.rank) + " computes " + times(slowest.factor) +
         " times as long as the others (measured by " + basis.name + ")";
}

std::string gains_text(const SuggestQuestion& question, const GainsMeasured& gains) {
  return "methods that took " + times(gains.least_steps) + " to " + times(gains.most_steps) +
         " times as many steps/s as allreduce reached an accuracy " + decimal_text(gains.least_time, 1) + " to " +
         decimal_text(gains.most_time, gains.most_time < 10 ? 1 : 0) + " times as soon (" +
         std::to_string(gains.cases) + " cases of lenet and cifar7, bench/results/time-to-accuracy.md" +
         (is_text(question) ? "; no language model is among them)" : ")");
}

// Returns how accurate `method` is: by the runs, else by measurements of eave itself.
std::string accuracy_sentence(const SuggestQuestion& question, const Trial& trial, double gain) {
  const Quality quality = quality_of(question, trial.method);
  if (quality.is_known) return quality.sentence;
  if (trial.method.pattern == ExchangePattern::kRequests && !straggler_sentence(question).empty())
    return "with one of 4 ranks 4 times slower, the others kept 0.99 of their rate with easgd-async, 0.32 with easgd "
           "and "
           "0.30 with allreduce (bench/results/methods.md)";
  return gains_text(question, gain < kLargeGains.least_steps ? kSmallGains : kLargeGains);
}

std::vector<std::string> reasons_for_method(const SuggestQuestion& question, const Suggestion& suggestion,
                                            const AloneRate& alone) {
  const Trial &chosen = *suggestion.chosen, &reference = suggestion.trials.front();
  const double gain = chosen.samples_per_second / reference.samples_per_second;
  std::vector<std::string> reasons;
  if (!reference.why_not.empty())
    reasons.push_back(objection_text(reference));
  else if (const std::string slow = straggler_sentence(question); !slow.empty())
    reasons.push_back(slow + ": allreduce waits for it, " + percent(reference.waiting_share()) + " of a step of " +
                      milliseconds(reference.step_seconds) + " (" + reference.source + ")");
  else
    reasons.push_back(figures_of(question, reference) + "; " + name_of(chosen.method) + " " +
                      milliseconds(chosen.step_seconds) + ", " + percent(chosen.waiting_share()) + " waiting (" +
                      chosen.source + ")");
  reasons.push_back(speed_sentence(question, chosen, alone));
  reasons.push_back(accuracy_sentence(question, chosen, gain));
  return reasons;
}

std::vector<std::string> reasons_for_allreduce(const SuggestQuestion& question, const Suggestion& suggestion,
                                               const AloneRate& alone, const Trial* other) {
  const Trial& reference = suggestion.trials.front();
  std::vector<std::string> reasons = {figures_of(question, reference), speed_sentence(question, reference, alone)};
  const auto refused =
      std::ranges::find_if(suggestion.trials, [](const Trial& trial) { return !trial.why_not.empty(); });
  if (refused != suggestion.trials.end() && refused->samples_per_second > kLeastSpeed * reference.samples_per_second) {
    reasons.push_back(objection_text(*refused));
  } else if (other && other->samples_per_second > reference.samples_per_second) {
    const double gain = other->samples_per_second / reference.samples_per_second;
    const std::string name = name_of(other->method), more = decimal_text(gain, 2) + " times as many steps/s";
    if (gain < kLeastSpeed)
      reasons.push_back(name + ", the fastest of the others, would take only " + more + " (" + other->source + ")");
    else
      reasons.push_back(name + " would take " + more + " (" + other->source + "); " +
                        (gain < kLeastGain ? "that is little: " + gains_text(question, kSmallGains)
                                           : "but " + plan_error_text(other->is_measured ? reference : *other)));
  }
  return reasons;
}

// Why methods were left out, in one sentence; "" if none was.
std::string objections_text(const std::vector<Trial>& trials) {
  constexpr std::int64_t kMost = 3;
  std::string text;
  std::int64_t count = 0;
  for (const Trial& trial : trials)
    if (!trial.why_not.empty() && ++count <= kMost) text += (text.empty() ? "" : "; ") + objection_text(trial);
  return count <= kMost ? text : text + "; and against " + std::to_string(count - kMost) + " more";
}

std::vector<std::string> reasons_for_one_rank(const SuggestQuestion& question, const Suggestion& suggestion,
                                              const AloneRate& alone, const Trial* other) {
  const Trial& reference = suggestion.trials.front();
  const std::string against = objections_text(suggestion.trials);
  std::vector<std::string> reasons = {against.empty() ? figures_of(question, reference) : against,
                                      speed_sentence(question, reference, alone)};
  if (other)
    reasons.push_back(name_of(other->method) + ", the best of the other methods, trains " +
                      decimal_text(other->samples_per_second / alone.samples_per_second, 2) + " times the " +
                      rate_name(question) + " of one rank (" + other->source + ")");
  return reasons;
}

}  // namespace

std::string objection_text(const Trial& trial) {
  return "the runs speak against " + name_of(trial.method) + ": " + trial.why_not;
}

std::string plan_error_text(const Trial& trial) {
  const double of_model = model_error(trial.method.pattern);
  if (trial.of_run.error > of_model)
    return "the plan was " + percent(trial.of_run.error) + " too fast about " + trial.of_run.run;
  return "plans of " + trial.method.name + " may be " + percent(of_model) + " too fast";
}

bool is_network_assumed(const SuggestQuestion& question) {
  const PlanReport& report = question.report;
  return report.network.hosts(question.ranks) > 1 && report.sources.rate == "assumed";
}

std::vector<std::string> reasons_for(const SuggestQuestion& question, const Suggestion& suggestion,
                                     const AloneRate& alone, const Trial* other) {
  switch (suggestion.answer) {
    case Suggestion::Answer::kMethod:
      return reasons_for_method(question, suggestion, alone);
    case Suggestion::Answer::kAllreduce:
      return reasons_for_allreduce(question, suggestion, alone, other);
    case Suggestion::Answer::kOneRank:
      break;
  }
  return reasons_for_one_rank(question, suggestion, alone, other);
}

std::vector<std::string> unknown_of(const SuggestQuestion& question, const Suggestion& suggestion) {
  std::vector<std::string> unknown;
  const PlanReport& report = question.report;
  if (suggestion.answer == Suggestion::Answer::kMethod) {
    const Metric& metric = basis_of(question).metric;
    const Quality quality = quality_of(question, suggestion.chosen->method);
    if (!quality.is_known)
      unknown.push_back("the " + metric.name + " of " + name_of(suggestion.chosen->method) +
                        " on this model and data was not measured");
    if (quality.is_one_seed_each)
      unknown.push_back("one seed of each method does not tell their " +
                        (is_accuracy(metric) ? "accuracies" : "values of " + metric.name) +
                        " apart: repeat with more seeds");
  }
  if (is_network_assumed(question))
    unknown.push_back("the rate of the links is assumed, " + bits_per_second_text(report.network.bytes_per_second) +
                      ": measure it with eave bench-comm on your hosts, and give it by --bench-comm or --network-rate");
  const PlanError worst = worst_plan(question);
  if (std::abs(worst.error) > model_error(ExchangePattern::kHiddenSums))
    unknown.push_back("the plan is " + percent(std::abs(worst.error)) + (worst.error > 0 ? " too fast" : " too slow") +
                      " about " + worst.run + ": other figures that are planned may be as wrong");
  if (report.network.hosts(question.ranks) > kMostHostsMeasured)
    unknown.push_back("plans of more than 8 hosts have not been compared with runs");
  if (const std::string slow = straggler_sentence(question); !slow.empty())
    unknown.push_back(slow + ": why? Training without it, or on another host, may be faster still");
  PlanReport of_chosen = report;
  if (suggestion.chosen) of_chosen.plans = {{suggestion.chosen->method, {}}};
  if (const std::string shortness = plan_shortness(of_chosen); !shortness.empty()) unknown.push_back(shortness);
  return unknown;
}

}  // namespace eave
