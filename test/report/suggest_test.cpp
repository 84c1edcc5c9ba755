// Tests the rules of `eave suggest`: which method, which tau, and what speaks against a method. The answers are known,
// because runs and networks are made up.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "report/plan/plan_network.h"
#include "report/suggest/suggestion.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

using Answer = Suggestion::Answer;

PlanMethod method_of(const std::string& name, ExchangePattern pattern, std::int64_t tau = 1) {
  return {.name = name, .pattern = pattern, .tau = tau, .hiding_steps = 1};
}

std::vector<PlanMethod> all_methods() {
  std::vector<PlanMethod> methods = {method_of("allreduce", ExchangePattern::kGradientSums)};
  for (const int tau : kPeriods) methods.push_back(method_of("local-sgd", ExchangePattern::kBlockingSums, tau));
  for (const int tau : kPeriods) methods.push_back(method_of("easgd", ExchangePattern::kHiddenSums, tau));
  for (const int tau : kPeriods) methods.push_back(method_of("easgd-async", ExchangePattern::kRequests, tau));
  return methods;
}

// A run whose ranks compute for this many milliseconds a step. It took `step_ms` in all for each step.
SuggestRun run_of(const PlanMethod& method, const std::vector<double>& milliseconds, double step_ms, double megabytes) {
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
SuggestQuestion question_of(const std::vector<double>& milliseconds, double megabytes, double bytes_per_second,
                            int ranks) {
  SuggestQuestion question{
      .report = {}, .runs = {run_of(all_methods().front(), milliseconds, 20, megabytes)}, .methods = all_methods()};
  question.report.run = *question.runs.front().plan;
  question.report.network.bytes_per_second = bytes_per_second;
  question.report.sources = {"as given", "as given", "assumed", "assumed", "as given"};
  question.network_of_runs.bytes_per_second = 0;
  question.ranks = ranks;
  return question;
}

std::string chosen_by(const SuggestQuestion& question) {
  const Suggestion suggestion = suggest(question);
  EXPECT_LE(suggestion.reasons.size(), 3u);
  EXPECT_GE(suggestion.reasons.size(), 2u);
  return suggestion.chosen ? name_of(suggestion.chosen->method) : "one rank";
}

constexpr double kGigabit = 125e6;

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

// Four ranks, whose gradients take 24 ms. local-sgd is planned to take 2.5 times as many steps.
SuggestQuestion question_of_four() {
  SuggestQuestion question = question_of({10, 10, 10, 10}, 2, kGigabit, 4);
  question.network_of_runs = question.report.network;
  question.methods = {all_methods()[0], all_methods()[2]};
  question.runs[0] = run_of(question.methods[0], {10, 10, 10, 10}, 30, 2);
  return question;
}

SuggestRun local_sgd_of_four(double step_ms) { return run_of(all_methods()[2], {10, 10, 10, 10}, step_ms, 2); }

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
  question.runs[0] = run_of(question.methods[0], {10, 10, 10, 10}, 60, 2);
  question.runs[1] = local_sgd_of_four(50);
  EXPECT_EQ(chosen_by(question), "one rank");  // four ranks of it train less than one computes
}

// The plan of tau 16 promises little waiting too, but a run has shown it for tau 64.
TEST(Suggest, prefers_a_tau_that_was_measured_to_a_smaller_one_that_is_planned) {
  SuggestQuestion question = question_of_four();
  question.methods.push_back(method_of("local-sgd", ExchangePattern::kBlockingSums, 64));
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 16");
  question.runs.push_back(run_of(question.methods.back(), {10, 10, 10, 10}, 10.5, 2));
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
  question.runs = {run_of(question.methods[0], {10, 10}, 10.2, 0.1), run_of(easgd, {10, 10}, easgd_ms, 0.1)};
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
  question.runs[0] = run_of(question.methods[0], {10, 10, 10, 10}, 45, 2);
  EXPECT_NEAR(worst_plan(question).error, 0.52, 0.05);
  const Suggestion suggestion = suggest(question);
  std::string all;
  for (const std::string& each : suggestion.unknown) all += each + "\n";
  EXPECT_NE(all.find(" too fast about runs/allreduce: other figures"), std::string::npos) << all;
}

void set_end(SuggestRun& run, double accuracy) {
  run.record.summary = RunSummary{};
  run.record.summary->samples = 6400;
  run.record.summary->evaluation.center.accuracy = accuracy;
  run.record.end = RunEnd::kFinished;
}

TEST(Suggest, advises_no_method_that_the_runs_speak_against) {
  SuggestQuestion question = question_of_four();
  question.runs.push_back(local_sgd_of_four(12));
  set_end(question.runs[0], 0.86);
  set_end(question.runs[1], 0.855);
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 16");
  set_end(question.runs[1], 0.80);
  const Suggestion worse = suggest(question);
  EXPECT_EQ(worse.answer, Answer::kAllreduce);
  EXPECT_EQ(worse.reasons.back(),
            "the runs speak against local-sgd, tau 16: after the same samples: local-sgd 80.00 % (runs/local-sgd), "
            "allreduce 86.00 "
            "% (runs/allreduce)");
  question.runs[1] = local_sgd_of_four(12);
  question.runs[1].record.end = RunEnd::kDiverged;
  EXPECT_EQ(suggest(question).answer, Answer::kAllreduce);
  question.runs[0].record.end = RunEnd::kDiverged;  // nothing is left
  EXPECT_EQ(suggest(question).answer, Answer::kOneRank);
}

// Adds a run like `run` with this rate, which diverged or has this accuracy.
void add_rate(SuggestQuestion& question, SuggestRun run, const std::string& rate, std::optional<double> accuracy) {
  run.name += "-" + rate;
  run.record.settings["lr"] = rate;
  if (accuracy) {
    set_end(run, *accuracy);
  } else {
    run.record.end = RunEnd::kDiverged;
  }
  question.runs.push_back(run);
}

TEST(Suggest, holds_a_divergence_against_a_method_at_the_rate_that_it_would_advise) {
  SuggestQuestion question = question_of_four();
  const SuggestRun reference = question.runs.front(), other = local_sgd_of_four(25);
  question.runs.clear();
  for (const auto& [rate, accuracy] : {std::pair("0.05", std::optional(0.80)), {"0.1", 0.85}, {"0.4", std::nullopt}}) {
    add_rate(question, reference, rate, accuracy);
    add_rate(question, other, rate, accuracy);
  }
  Suggestion suggestion = suggest(question);
  EXPECT_EQ(suggestion.answer, Answer::kAllreduce);
  EXPECT_EQ(suggestion.rate.lr, "0.1");
  EXPECT_EQ(suggestion.rate.sentence, "the best of those that the runs tried; lr 0.4 diverged");
  add_rate(question, reference, "0.2", std::nullopt);
  EXPECT_EQ(suggest(question).rate.sentence, "the best of those that the runs tried; lr 0.2 and 0.4 diverged");
  for (const SuggestRun& run : {reference, other}) add_rate(question, run, "0.1", std::nullopt);  // of other seeds
  suggestion = suggest(question);
  EXPECT_EQ(suggestion.answer, Answer::kOneRank);
  EXPECT_EQ(suggestion.reasons.front(),
            "the runs speak against allreduce: runs/allreduce-0.1 diverged with it; the runs speak against local-sgd, "
            "tau 16: runs/local-sgd-0.1 diverged with it");
  EXPECT_EQ(suggestion_text(suggestion, {}).find("use one rank: the runs speak against the methods that would gain\n"),
            0u);
}

TEST(Suggest, counts_a_divergence_only_with_the_ranks_in_question) {
  SuggestQuestion question = question_of_four();
  add_rate(question, local_sgd_of_four(12), "0.1", std::nullopt);
  EXPECT_EQ(chosen_by(question), "allreduce");
  question.runs.back().record.ranks = 8;
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 16");
}

// The rate of the run that is planned from has diverged with the method that is advised.
TEST(Suggest, takes_the_only_rate_that_did_not_diverge) {
  SuggestQuestion question = question_of_four();
  const SuggestRun reference = question.runs.front();
  question.methods.resize(1);
  question.runs.clear();
  add_rate(question, reference, "0.05", 0.80);
  add_rate(question, reference, "0.1", std::nullopt);
  EXPECT_EQ(suggest(question).rate.lr, "0.05");
}

// Seeds of both that overlap say nothing against a method, whatever the difference of their means.
TEST(Suggest, leaves_open_what_seeds_do_not_tell_apart) {
  SuggestQuestion question = question_of_four();
  const SuggestRun reference = question.runs[0], other = local_sgd_of_four(12);
  question.runs.clear();
  for (const double accuracy : {0.80, 0.90}) {
    set_end(question.runs.emplace_back(reference), accuracy);
    set_end(question.runs.emplace_back(other), accuracy - 0.02);
  }
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 16");
}

// The same two seeds four times are still two seeds.
TEST(Suggest, counts_each_seed_once) {
  SuggestQuestion question = question_of_four();
  const SuggestRun reference = question.runs[0], other = local_sgd_of_four(12);
  question.runs.clear();
  for (int copy = 0; copy < 8; ++copy) {
    const std::string seed = copy % 2 == 0 ? "1" : "2";
    const double accuracy = copy % 2 == 0 ? 0.80 : 0.83;
    for (const auto& [run, score] : {std::pair(reference, accuracy), std::pair(other, accuracy - 0.03)}) {
      set_end(question.runs.emplace_back(run), score);
      question.runs.back().record.settings["seed"] = seed;
    }
  }
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 16");
}

// The first rate has the better mean over seeds, and the worse one over runs.
TEST(Suggest, takes_the_rate_that_is_best_by_seeds) {
  SuggestQuestion question = question_of({10, 10}, 0.1, 10 * kGigabit, 2);
  const SuggestRun run = question.runs.front();
  question.runs.clear();
  const auto add = [&](const std::string& rate, const std::string& seed, double score) {
    set_end(question.runs.emplace_back(run), score);
    question.runs.back().record.settings["lr"] = rate;
    question.runs.back().record.settings["seed"] = seed;
  };
  add("0.1", "1", 0.90);
  for (int copy = 0; copy < 3; ++copy) add("0.1", "2", 0.50);
  add("0.2", "1", 0.60);
  add("0.2", "2", 0.70);
  EXPECT_EQ(suggest(question).rate.lr, "0.1");
}

TEST(Suggest, takes_the_best_rate_that_the_runs_tried) {
  SuggestQuestion question = question_of({10, 10}, 0.1, 10 * kGigabit, 2);
  question.runs.push_back(question.runs[0]);
  question.runs[1].record.settings["lr"] = "0.2";
  set_end(question.runs[0], 0.80);
  set_end(question.runs[1], 0.85);
  EXPECT_EQ(suggest(question).rate.lr, "0.2");
}

SuggestRun with_alpha(const SuggestRun& run, const std::string& alpha, double accuracy) {
  SuggestRun other = run;
  other.name += "-" + alpha;
  other.options = {{"alpha", alpha}};
  other.record.settings["alpha"] = alpha;
  set_end(other, accuracy);
  return other;
}

// Runs of the same tau whose alphas differ are two methods.
TEST(Suggest, advises_the_alpha_of_the_better_run_with_its_rate) {
  SuggestQuestion question = question_of_four();
  set_end(question.runs[0], 0.86);
  question.methods.resize(1);
  const SuggestRun easgd = run_of(method_of("easgd", ExchangePattern::kHiddenSums, 16), {10, 10, 10, 10}, 11, 2);
  for (const auto& [alpha, accuracy] : {std::pair("0.05", 0.84), {"0.2", 0.87}, {"0.9", 0.30}}) {
    question.methods.push_back(method_of("easgd", ExchangePattern::kHiddenSums, 16));
    question.methods.back().options = {{"alpha", alpha}};
    question.runs.push_back(with_alpha(easgd, alpha, accuracy));
  }
  question.runs[2].record.settings["lr"] = "0.05";
  const Suggestion suggestion = suggest(question);
  ASSERT_TRUE(suggestion.chosen);
  EXPECT_EQ(name_of(suggestion.chosen->method), "easgd, tau 16, alpha 0.2");
  EXPECT_EQ(suggestion.rate.lr, "0.05") << "not that of the run that is planned from";
  EXPECT_NE(suggestion.trials[3].why_not, "") << "of alpha 0.9 alone";
}

// Each exchange costs more than a little of the step, and the run of alpha 0.05 was faster by chance.
TEST(Suggest, advises_the_alpha_of_the_better_run_also_if_no_tau_is_cheap) {
  SuggestQuestion question = question_of_four();
  set_end(question.runs[0], 0.86);
  question.methods.resize(1);
  for (const auto& [alpha, accuracy, step_ms] : {std::tuple("0.05", 0.84, 14.4), {"0.2", 0.87, 14.6}}) {
    question.methods.push_back(method_of("easgd", ExchangePattern::kHiddenSums, 16));
    const SuggestRun easgd = run_of(question.methods.back(), {10, 10, 10, 10}, step_ms, 2);
    question.methods.back().options = {{"alpha", alpha}};
    question.runs.push_back(with_alpha(easgd, alpha, accuracy));
  }
  EXPECT_EQ(chosen_by(question), "easgd, tau 16, alpha 0.2");
  std::swap(question.methods[1], question.methods[2]);
  EXPECT_EQ(chosen_by(question), "easgd, tau 16, alpha 0.2");
}

TEST(Suggest, counts_no_run_of_another_batch) {
  SuggestQuestion question = question_of_four();
  const SuggestRun other = local_sgd_of_four(12);
  for (SuggestRun& run : question.runs) run.record.settings["batch"] = "32";
  set_end(question.runs[0], 0.86);
  set_end(question.runs.emplace_back(other), 0.86);
  question.runs.back().record.settings["batch"] = "32";
  set_end(question.runs.emplace_back(other), 0.50);
  question.runs.back().record.settings["batch"] = "512";
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 16");
  question.runs.back().record.end = RunEnd::kDiverged;
  EXPECT_EQ(chosen_by(question), "local-sgd, tau 16");
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

}  // namespace
}  // namespace eave
