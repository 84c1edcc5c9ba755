// Made questions to `eave suggest`, whose answers are known.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "report/plan/plan_network.h"
#include "report/suggest/suggestion.h"

namespace eave {

inline PlanMethod method_of(const std::string& name, ExchangePattern pattern, std::int64_t tau = 1) {
  return {.name = name, .pattern = pattern, .tau = tau, .hiding_steps = 1};
}

inline std::vector<PlanMethod> all_methods() {
  std::vector<PlanMethod> methods = {method_of("allreduce", ExchangePattern::kGradientSums)};
  for (const int tau : kPeriods) methods.push_back(method_of("local-sgd", ExchangePattern::kBlockingSums, tau));
  for (const int tau : kPeriods) methods.push_back(method_of("easgd", ExchangePattern::kHiddenSums, tau));
  for (const int tau : kPeriods) methods.push_back(method_of("easgd-async", ExchangePattern::kRequests, tau));
  return methods;
}

// A run whose ranks compute for this many milliseconds a step. It took `step_ms` in all for each step.
inline SuggestRun suggest_run(const PlanMethod& method, const std::vector<double>& milliseconds, double step_ms,
                              double megabytes) {
  SuggestRun run{"runs/" + method.name, {}, PlanRun{}};
  const auto ranks = static_cast<int>(milliseconds.size());
  run.record.settings = {{"communicator", method.name}, {"lr", "0.1"}, {"tau", std::to_string(method.tau)}};
  run.record.ranks = run.record.workers = run.plan->ranks = run.plan->workers = run.plan->hosts = ranks;
  run.plan->communicator = method.name;
  run.plan->pattern = method.pattern;
  for (const double each : milliseconds) run.plan->basis.step_seconds.emplace_back(2000, 1e-3 * each);
  run.plan->basis.samples_per_step = 32;
  run.plan->basis.sum_bytes = run.plan->basis.parameter_bytes = 1e6 * megabytes;
  run.plan->steps = 2000 * ranks;
  for (int step = 1; step <= 100; ++step) {
    StepPoint point;
    point.step = step;
    point.seconds = 1e-3 * step_ms * step;
    run.record.steps.push_back(point);
  }
  return run;
}

// One run of allreduce is given, and all figures of the network.
inline SuggestQuestion question_of(const std::vector<double>& milliseconds, double megabytes, double bytes_per_second,
                                   int ranks) {
  SuggestQuestion question{.report = {},
                           .runs = {suggest_run(all_methods().front(), milliseconds, 20, megabytes)},
                           .methods = all_methods()};
  question.report.run = *question.runs.front().plan;
  question.report.network.bytes_per_second = bytes_per_second;
  question.report.sources = {"as given", "as given", "assumed", "assumed", "as given"};
  question.network_of_runs.bytes_per_second = 0;
  question.ranks = ranks;
  return question;
}

inline std::string chosen_by(const SuggestQuestion& question) {
  const Suggestion suggestion = suggest(question);
  EXPECT_LE(suggestion.reasons.size(), 3u);
  EXPECT_GE(suggestion.reasons.size(), 2u);
  return suggestion.chosen ? name_of(suggestion.chosen->method) : "one rank";
}

constexpr double kGigabit = 125e6;

// Four ranks, whose gradients take 24 ms. local-sgd is planned to take 2.5 times as many steps.
inline SuggestQuestion question_of_four() {
  SuggestQuestion question = question_of({10, 10, 10, 10}, 2, kGigabit, 4);
  question.network_of_runs = question.report.network;
  question.methods = {all_methods()[0], all_methods()[2]};
  question.runs[0] = suggest_run(question.methods[0], {10, 10, 10, 10}, 30, 2);
  return question;
}

inline SuggestRun local_sgd_of_four(double step_ms) {
  return suggest_run(all_methods()[2], {10, 10, 10, 10}, step_ms, 2);
}

}  // namespace eave
