// Tests the rules of `eave suggest`: which method and which tau, and how far a plan is believed. The answers are known,
// because runs and networks are made up.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "report/suggest/suggestion.h"
#include "test/expectations.h"
#include "test/report/suggest/suggest_questions.h"

namespace eave {
namespace {

using Answer = Suggestion::Answer;

TEST(Suggest, stays_with_allreduce_on_a_fast_network) {
  const Suggestion suggestion = suggest(question_of({10, 10}, 0.1, 10 * kGigabit, 4));
  EXPECT_EQ(suggestion.answer, Answer::kAllreduce);
  EXPECT_LT(suggestion.chosen->waiting_share(), 0.1);
  EXPECT_TRUE(suggestion.to_compare.empty());
  EXPECT_NE(suggestion.reasons[0].find("allreduce takes 10."), std::string::npos) << suggestion.reasons[0];
  EXPECT_NE(suggestion.reasons[0].find("10 Gbit/s between hosts (as given)"), std::string::npos)
      << suggestion.reasons[0];
}

TEST(Suggest, takes_a_longer_tau_the_slower_the_network_is) {
  EXPECT_EQ(chosen_by(question_of({10, 10}, 1, kGigabit, 4)), "allreduce");  // 12 ms, half of them hidden
  EXPECT_EQ(chosen_by(question_of({10, 10}, 6, kGigabit, 4)), "local-sgd, tau 64");
  EXPECT_EQ(chosen_by(question_of({10, 10}, 4, kGigabit, 4)), "local-sgd, tau 16");
  EXPECT_EQ(chosen_by(question_of({10, 10}, 6, kGigabit / 10, 4)),
            "easgd, tau 64");  // it hides what local-sgd waits for
}

TEST(Suggest, gives_reasons_with_figures_and_says_what_would_settle_the_rest) {
  const Suggestion suggestion = suggest(question_of({10, 10}, 4, kGigabit, 4));
  ASSERT_EQ(suggestion.reasons.size(), 3u);
  EXPECT_EQ(suggestion.reasons[0],
            "allreduce takes 53.8 ms a step, of which 81 % is waiting (planned from runs/allreduce, 1 Gbit/s between "
            "hosts (as "
            "given)); local-sgd, tau 16 13.0 ms, 23 % waiting (planned from runs/allreduce)");
  EXPECT_EQ(suggestion.reasons[1].substr(0, 42), "4 ranks train 3.1 times the samples/s of o");
  EXPECT_NE(suggestion.reasons[2].find("1.0 to 1.8 times as soon"), std::string::npos) << suggestion.reasons[2];
  ASSERT_EQ(suggestion.to_compare.size(), 1u);
  EXPECT_EQ(name_of(suggestion.to_compare[0]), "local-sgd, tau 16");
  EXPECT_EQ(suggestion.unknown[0], "the accuracy of local-sgd, tau 16 on this model and data was not measured");
}

TEST(Suggest, uses_one_rank_if_nothing_gains) {
  SuggestQuestion question = question_of({0.05, 0.05}, 0.1, kGigabit, 2);
  question.report.network.delay_seconds = 0.005;
  const Suggestion suggestion = suggest(question);
  EXPECT_EQ(suggestion.answer, Answer::kOneRank);
  EXPECT_EQ(suggestion.ranks, 1);
  ASSERT_EQ(suggestion.reasons.size(), 3u);
  EXPECT_NE(suggestion.reasons[2].find("times the samples/s of one rank (planned from runs/allreduce)"),
            std::string::npos);
  question.report.network.delay_seconds = 0;  // the same ranks gain if messages are quick
  EXPECT_NE(chosen_by(question), "one rank");
}

TEST(Suggest, does_not_wait_for_a_rank_that_is_much_slower) {
  const Suggestion suggestion = suggest(question_of({10, 10, 10, 40}, 0.1, 10 * kGigabit, 4));
  EXPECT_EQ(suggestion.chosen->method.name, "easgd-async");
  EXPECT_NE(suggestion.reasons[0].find("rank 3 computes 4.0 times as long as the others (measured by runs/allreduce)"),
            std::string::npos)
      << suggestion.reasons[0];
  EXPECT_NE(suggestion.reasons[2].find("bench/results/methods.md"), std::string::npos);
}

// The plan says that local-sgd is much faster. A run of it says that it is not.
TEST(Suggest, believes_a_run_more_than_its_plan) {
  SuggestQuestion question = question_of_four();
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 16");
  question.runs.push_back(local_sgd_of_four(25));
  EXPECT_EQ(chosen_by(question), "allreduce");
  const Suggestion measured = suggest(question);
  EXPECT_EQ(measured.reasons[0],
            "allreduce takes 30.0 ms a step, of which 0.0 % is waiting (measured by runs/allreduce)");
  EXPECT_NE(
      measured.reasons[2].find("would take 1.20 times as many steps/s (measured by runs/local-sgd); that is little"),
      std::string::npos);
  question.runs[0] = suggest_run(question.methods[0], {10, 10, 10, 10}, 60, 2);
  question.runs[1] = local_sgd_of_four(50);
  EXPECT_EQ(chosen_by(question), "one rank");  // four ranks of it train less than one computes
}

// The plan of tau 16 promises little waiting too, but a run has shown it for tau 64.
TEST(Suggest, prefers_a_tau_that_was_measured_to_a_smaller_one_that_is_planned) {
  SuggestQuestion question = question_of_four();
  question.methods.push_back(method_of("local-sgd", ExchangePattern::kBlockingSums, 64));
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 16");
  question.runs.push_back(suggest_run(question.methods.back(), {10, 10, 10, 10}, 10.5, 2));
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 64");
}

// A run shows that plans are far too fast here. Then what is only planned outweighs nothing.
TEST(Suggest, does_not_believe_other_plans_more_than_the_run_that_missed_its_plan) {
  SuggestQuestion question = question_of_four();
  question.methods.push_back(method_of("easgd", ExchangePattern::kHiddenSums, 16));
  EXPECT_EQ(chosen_by(question), "easgd, tau 16");
  question.runs.push_back(local_sgd_of_four(28));
  EXPECT_EQ(chosen_by(question), "allreduce");
  EXPECT_GT(worst_plan(question).error, 1);
  EXPECT_EQ(worst_plan(question).run, "runs/local-sgd");
}

// Two ranks of one host. The run of allreduce took as long as planned, that of easgd took `easgd_ms` a step.
SuggestQuestion question_of_one_host(double easgd_ms) {
  SuggestQuestion question = question_of({10, 10}, 0.1, 10 * kGigabit, 4);
  question.report.network.ranks_per_host = 2;
  question.network_of_runs = question.report.network;
  const PlanMethod easgd = method_of("easgd", ExchangePattern::kHiddenSums, 4);
  question.runs = {suggest_run(question.methods[0], {10, 10}, 10.2, 0.1), suggest_run(easgd, {10, 10}, easgd_ms, 0.1)};
  for (SuggestRun& run : question.runs) run.plan->hosts = 1;
  question.report.run = *question.runs[0].plan;
  return question;
}

const Trial& trial_of(const Suggestion& suggestion, const std::string& method) {
  return *std::ranges::find(suggestion.trials, method, [](const Trial& trial) { return trial.method.name; });
}

TEST(Suggest, holds_an_error_of_a_plan_against_methods_that_exchange_alike) {
  SuggestQuestion question = question_of_one_host(32);
  const Suggestion suggestion = suggest(question);
  EXPECT_EQ(suggestion.answer, Answer::kAllreduce);
  EXPECT_LT(trial_of(suggestion, "allreduce").error, 0.5);
  EXPECT_GT(trial_of(suggestion, "easgd").error, 2);
  EXPECT_GT(trial_of(suggestion, "local-sgd").error, 2) << "no run exchanged like it: the worst plan counts";
}

// The runs used no link, so no figure of links makes their plans better.
TEST(Suggest, holds_an_error_on_one_host_against_plans_of_any_network) {
  SuggestQuestion question = question_of_one_host(32);
  question.report.network.bytes_per_second = kGigabit;
  EXPECT_GT(trial_of(suggest(question), "easgd").error, 2);
  question.report.network.host_bytes_per_second *= 2;
  EXPECT_LT(trial_of(suggest(question), "easgd").error, 0.5);
}

TEST(Suggest, does_not_say_that_nothing_gains_if_only_the_plan_is_doubtful) {
  SuggestQuestion question = question_of_one_host(62);
  question.runs.erase(question.runs.begin());
  const Suggestion suggestion = suggest(question);
  EXPECT_EQ(suggestion.answer, Answer::kOneRank);
  EXPECT_GT(suggestion.trials[0].samples_per_second, 2 * suggestion.alone);
  const std::string text = suggestion_text(suggestion, {});
  EXPECT_EQ(text.find("use one rank: it is not known whether more ranks gain, since the plan was 5"), 0u) << text;
  EXPECT_NE(text.find(" % too fast about runs/easgd\n"), std::string::npos) << text;
}

TEST(Suggest, says_by_how_much_the_plan_errs_about_the_run_itself) {
  SuggestQuestion question = question_of_four();
  EXPECT_NEAR(worst_plan(question).error, 0, 0.05);
  question.runs[0] = suggest_run(question.methods[0], {10, 10, 10, 10}, 45, 2);
  EXPECT_NEAR(worst_plan(question).error, 0.52, 0.05);
  const Suggestion suggestion = suggest(question);
  std::string all;
  for (const std::string& each : suggestion.unknown) all += each + "\n";
  EXPECT_NE(all.find(" too fast about runs/allreduce: other figures"), std::string::npos) << all;
}

TEST(Suggest, says_if_the_answer_hangs_on_a_network_that_is_assumed) {
  SuggestQuestion question = question_of({10, 10}, 1, 10 * kGigabit, 4);
  question.report.sources.rate = "assumed";
  const Suggestion suggestion = suggest(question);
  std::string all;
  for (const std::string& each : suggestion.unknown) all += each + "\n";
  EXPECT_NE(all.find("the rate of the links is assumed, 10 Gbit/s"), std::string::npos) << all;
  question.report.run.basis.sum_bytes = question.report.run.basis.parameter_bytes = 4e6;
  all.clear();
  for (const std::string& each : suggest(question).unknown) all += each + "\n";
  EXPECT_NE(all.find("with links of 1 Gbit/s the answer would be local-sgd, tau 16"), std::string::npos) << all;
}

TEST(Suggest, has_the_gains_that_were_measured) {
  std::ifstream file(EAVE_GOLDEN_DIR "/../../../bench/results/2026-11-24-time-to-accuracy.json");
  const auto record = nlohmann::json::parse(file);
  std::map<std::tuple<std::string, int, std::string, std::string>, double> steps;
  for (const auto& row : record.at("steps"))
    steps[{row["data"], row["ranks"], row["rate"], row["method"]}] = row["seconds_per_step"];
  GainsMeasured small{0, 1e9, 0, 1e9, 0}, large = small;
  for (const auto& row : record.at("table")) {
    for (const std::string method : {"local-sgd", "easgd"}) {
      const auto seconds = [&](const std::string& name) {
        return steps.at({row["data"], row["ranks"], row["rate"], name});
      };
      const double gain = seconds("allreduce") / seconds(method);
      const double time =
          row["seconds"]["allreduce"]["median"].get<double>() / row["seconds"][method]["median"].get<double>();
      GainsMeasured& gains = gain < 4 ? small : large;
      ++gains.cases;
      gains.least_steps = std::min(gains.least_steps, gain);
      gains.most_steps = std::max(gains.most_steps, gain);
      gains.least_time = std::min(gains.least_time, time);
      gains.most_time = std::max(gains.most_time, time);
    }
  }
  const auto expect = [](const GainsMeasured& measured, const GainsMeasured& said) {
    EXPECT_EQ(measured.cases, said.cases);
    EXPECT_NEAR(measured.least_steps, said.least_steps, 0.05);
    EXPECT_NEAR(measured.most_steps, said.most_steps, 0.05);
    EXPECT_NEAR(measured.least_time, said.least_time, 0.05);
    EXPECT_NEAR(measured.most_time, said.most_time, 0.05);
  };
  expect(small, kSmallGains);
  expect(large, kLargeGains);
}

// The model must not be blamed for hiding what the run did not hide. The advised command hides it again.
TEST(Suggest, holds_a_run_that_waited_for_each_exchange_against_a_plan_that_waits) {
  SuggestQuestion question = question_of_one_host(0);
  PlanMethod waiting = method_of("easgd", ExchangePattern::kHiddenSums, 4);
  let_wait(waiting, "--overlap off");
  question.report.network.host_bytes_per_second = question.network_of_runs.host_bytes_per_second = 2e6;
  question.report.run = *question.runs[0].plan;
  const double planned = predict(question.report.run.basis, question.report.network, waiting, 2).step_seconds;
  question.runs[1] = suggest_run(method_of("easgd", ExchangePattern::kHiddenSums, 4), {10, 10}, 1e3 * planned, 0.1);
  question.runs[1].plan->hosts = 1;
  question.runs[1].name = "runs/waiting";
  EXPECT_EQ(worst_plan(question).run, "runs/waiting");
  question.runs[1].waits_with = "--overlap off";
  EXPECT_NE(worst_plan(question).run, "runs/waiting");
  question.ranks = 2;
  EXPECT_FALSE(trial_of(suggest(question), "easgd").is_measured);
}

}  // namespace
}  // namespace eave
