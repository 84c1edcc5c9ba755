// Tests what runs say to `eave suggest`: against a method, for a rate, an alpha or a seed.
#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "report/suggest/suggestion.h"
#include "test/expectations.h"
#include "test/report/suggest/suggest_questions.h"

namespace eave {
namespace {

using Answer = Suggestion::Answer;

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
  const SuggestRun easgd = suggest_run(method_of("easgd", ExchangePattern::kHiddenSums, 16), {10, 10, 10, 10}, 11, 2);
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
    const SuggestRun easgd = suggest_run(question.methods.back(), {10, 10, 10, 10}, step_ms, 2);
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

}  // namespace
}  // namespace eave
