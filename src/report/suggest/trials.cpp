#include "report/suggest/trials.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/options/number_text.h"
#include "report/plan/plan_ranking.h"
#include "report/plan/plan_run.h"
#include "report/record/config.h"

namespace eave {
namespace {

bool shares_settings(const SuggestRun& a, const SuggestRun& b) {
  for (const char* name : {"shape-rate", "shape-delay", "shape-compute", "slow-rank", "compression"}) {
    if (setting_in(a.record.settings, name) != setting_in(b.record.settings, name)) return false;
  }
  const double ours = a.plan->basis.samples_per_step, theirs = b.plan->basis.samples_per_step;
  return std::abs(ours - theirs) <= 0.01 * ours;
}

// Samples per second of all ranks, from rank 0's steps. The first twentieth of the run is left out, because it includes
// set-up. An asynchronous rank has its own pace, so the summary counts if there is one.
double measured_rate(const SuggestRun& run) {
  const std::vector<StepPoint>& steps = run.record.steps;
  const bool is_own_pace = run.plan->pattern == ExchangePattern::kRequests;
  if (is_own_pace && run.record.summary) return run.record.summary->samples_per_second;
  if (steps.size() < 2) return 0;
  const StepPoint &first = steps[std::min(steps.size() - 2, steps.size() / 20)], &last = steps.back();
  const double seconds = last.seconds - first.seconds, count = last.step - first.step;
  return seconds > 0 ? run.plan->workers * run.plan->basis.samples_per_step * count / seconds : 0;
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(a); }

bool has_same_links(const PlanNetwork& a, const PlanNetwork& b) {
  return is_near(a.value_rate(), b.value_rate()) && is_near(a.delay_seconds, b.delay_seconds);
}

// Whether the run used the network in question: its own host, or the links between its hosts.
bool is_on_network(const SuggestRun& run, const SuggestQuestion& question) {
  const PlanNetwork &ours = question.report.network, &its = question.network_of_runs;
  if (run.plan->hosts != ours.hosts(run.plan->ranks)) return false;
  return is_near(ours.host_bytes_per_second, its.host_bytes_per_second) &&
         (run.plan->hosts == 1 || has_same_links(ours, its));
}

bool is_measurement(const SuggestRun& run, const SuggestQuestion& question) {
  return run.plan && shares_settings(run, question.runs[question.basis]) && is_on_network(run, question) &&
         measured_rate(run) > 0;
}

// The run that measured this method with the ranks in question; nullptr if none did. The longest counts.
const SuggestRun* run_of(const SuggestQuestion& question, const PlanMethod& method) {
  const SuggestRun* found = nullptr;
  for (const SuggestRun& run : question.runs) {
    if (!run.plan || !run.waits_with.empty() || !has_method(method, run) || run.plan->ranks != question.ranks ||
        !is_measurement(run, question))
      continue;
    if (!found || run.plan->steps > found->plan->steps) found = &run;
  }
  return found;
}

// The method of the run, which waits as its ranks did; nothing if it has one rank, or if another network or setting is
// in question.
std::optional<PlanMethod> method_of(const SuggestQuestion& question, const SuggestRun& run) {
  if (!is_measurement(run, question) || run.plan->ranks < 2) return std::nullopt;
  for (PlanMethod method : question.methods) {
    if (!has_method(method, run)) continue;
    let_wait(method, run.waits_with);
    return method;
  }
  return std::nullopt;
}

// planned / measured - 1 for the run's own method and ranks.
double error_of_run(const SuggestQuestion& question, const SuggestRun& run, const PlanMethod& method) {
  const PlanRow row = predict(question.report.run.basis, question.report.network, method, run.plan->ranks);
  return row.samples_per_second / measured_rate(run) - 1;
}

using ErrorsByPattern = std::map<ExchangePattern, PlanError>;

// A plan that was too fast is worse than one that was too slow: it promises what the ranks do not hold.
void keep_worse(PlanError& worst, const PlanError& error) {
  const bool is_worse = error.error > 0 ? error.error > worst.error : worst.error <= 0 && error.error < worst.error;
  if (is_worse) worst = error;
}

// The worst of each pattern that a run measured.
ErrorsByPattern errors_of(const SuggestQuestion& question) {
  ErrorsByPattern errors;
  for (const SuggestRun& run : question.runs) {
    const std::optional<PlanMethod> method = method_of(question, run);
    if (!method) continue;
    const double error = error_of_run(question, run, *method);
    if (error != 0) keep_worse(errors[method->pattern], {error, run.name});
  }
  return errors;
}

PlanError worst_of(const ErrorsByPattern& errors) {
  PlanError worst;
  for (const auto& [pattern, error] : errors) keep_worse(worst, error);
  return worst;
}

Trial planned(const SuggestQuestion& question, const PlanMethod& method, const ErrorsByPattern& errors) {
  const PlanRow row = predict(question.report.run.basis, question.report.network, method, question.ranks);
  const auto alike = errors.find(method.pattern);
  const PlanError of_run = alike == errors.end() ? worst_of(errors) : alike->second;
  Trial trial{.method = method,
              .samples_per_second = row.samples_per_second,
              .step_seconds = row.step_seconds,
              .straggling_share = row.straggling_seconds / row.step_seconds,
              .exchange_share = row.exchange_seconds / row.step_seconds,
              .error = std::max(model_error(method.pattern), std::abs(of_run.error)),
              .of_run = of_run,
              .source = "planned from " + question.runs[question.basis].name};
  return trial;
}

void put_in(const SuggestRun& run, Trial& trial) {
  trial.samples_per_second = measured_rate(run);
  trial.step_seconds = run.plan->workers * run.plan->basis.samples_per_step / trial.samples_per_second;
  const double waiting = std::clamp(run.record.shares.waiting, 0.0, 1.0);
  trial.straggling_share = std::min(trial.straggling_share, waiting);
  trial.exchange_share = waiting - trial.straggling_share;
  trial.error = 0;
  trial.of_run = {};
  trial.source = "measured by " + run.name;
  trial.is_measured = true;
}

}  // namespace

bool has_method(const PlanMethod& method, const SuggestRun& run) {
  if (setting_in(run.record.settings, "communicator") != method.name || run.options != method.options) return false;
  const bool has_tau = method.pattern != ExchangePattern::kGradientSums && method.pattern != ExchangePattern::kNone;
  if (has_tau && number_in(run.record.settings, "tau") != static_cast<double>(method.tau)) return false;
  return method.pattern != ExchangePattern::kTree ||
         global_tau_of(run.record.settings, method.tau) == method.global_tau;
}

PlanError worst_plan(const SuggestQuestion& question) { return worst_of(errors_of(question)); }

std::vector<Trial> trials_of(const SuggestQuestion& question) {
  const ErrorsByPattern errors = errors_of(question);
  std::vector<Trial> trials;
  for (const PlanMethod& method : question.methods) {
    Trial& trial = trials.emplace_back(planned(question, method, errors));
    const SuggestRun* const run = run_of(question, method);
    if (run == nullptr) continue;
    put_in(*run, trial);
    trial.measured_by = static_cast<std::size_t>(run - question.runs.data());
  }
  return trials;
}

AloneRate alone_rate(const SuggestQuestion& question) {
  const SuggestRun& basis = question.runs[question.basis];
  for (const SuggestRun& run : question.runs) {
    if (run.plan && run.plan->ranks == 1 && shares_settings(run, basis))
      return {one_rank_rate(run.plan->basis), "measured by " + run.name};
  }
  double fastest = 0;
  for (const std::vector<double>& seconds : basis.plan->basis.step_seconds)
    fastest = std::max(fastest, basis.plan->basis.samples_per_step / mean_of(seconds));
  return {fastest, "computing of the fastest rank of " + basis.name};
}

SlowestRank slowest_rank(const PlanRun& run) {
  std::vector<double> means;
  for (const std::vector<double>& seconds : run.basis.step_seconds) means.push_back(mean_of(seconds));
  if (means.size() < 2) return {};
  const auto slowest = std::ranges::max_element(means);
  std::vector<double> others = means;
  others.erase(others.begin() + (slowest - means.begin()));
  return {static_cast<int>(slowest - means.begin()), *slowest / median_of(others)};
}

}  // namespace eave
