// Compares whole sentences about crafted runs: about budgets, and who reached a target first.
#include <gtest/gtest.h>

#include <map>

#include "report/compare/comparison.h"
#include "test/expectations.h"
#include "test/report/compare/verdict_of.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

// Programs end by the clock, which runs during evaluations: 6 + 2 * 2 s and 8 + 2 * 1 s.
TEST(Verdict, takes_evaluations_for_part_of_a_programs_time) {
  const MadeRuns place;
  const std::map<std::string, std::string> settings = {{"program", "train.py"}, {"stop-after-time", "10s"}};
  make_seeds(place, "a", {.accuracies = {0.4, 0.8}, .seconds = 6, .evaluation_seconds = 2, .settings = settings}, 2,
             0.01);
  MadeRun other{.communicator = "easgd", .accuracies = {0.3, 0.6}, .seconds = 8, .evaluation_seconds = 1, .epochs = 2};
  other.settings = settings;
  make_seeds(place, "b", other, 2, 0.01);
  EXPECT_NE(verdict(place).at(0).find(" % test accuracy after 10s ("), std::string::npos) << verdict(place).at(0);
}

// The runs take 4 s and 8 s, without scatter.
TEST(Verdict, names_the_fastest_to_the_target_and_who_never_got_there) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.8}, .seconds = 4}, 2, 0);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.4, 0.8}, .seconds = 8}, 2, 0);
  make_seeds(place, "c", {.communicator = "none", .accuracies = {0.4, 0.5}, .seconds = 2}, 2, 0);
  EXPECT_EQ(verdict(place, 0.8).at(1),
            "With one rank and batch 10, allreduce was the fastest to 80 % test accuracy: it came there in 4.0 s (95 % "
            "interval 4.0 to 4.0, 2 seeds), 2.00 times as fast as easgd (2.00 to 2.00, p < 0.001). Not every run got "
            "there: none.");
}

TEST(Verdict, names_no_winner_on_accuracy_where_budgets_differ) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.8}, .seconds = 4, .samples = 1000});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.6}, .seconds = 8, .epochs = 3});
  EXPECT_EQ(verdict(place).at(0),
            "With one rank and batch 10, test accuracies name no winner, for budgets differ: allreduce 1000 samples in "
            "4.0 s, easgd 3000 samples in 8.0 s.");
}

TEST(Verdict, takes_equal_seconds_or_bytes_for_equal_budgets) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.8}, .seconds = 8});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.6}, .seconds = 8.1, .epochs = 3});
  expect_parts(verdict(place).at(0), {"80.00 % test accuracy after 8 s, 20.00 points more"});
}

// Runs check such a budget now and then, so they end a little later than it says.
TEST(Verdict, takes_a_time_and_bytes_that_all_have_spent_for_equal_budgets) {
  struct Case {
    const char *option, *value;
    double seconds, others_seconds;
    std::int64_t bytes, others_bytes;
    const char* words;
  };
  for (const Case& one :
       {Case{"stop-after-time", "6s", 6.05, 6.3, 0, 0, "80.00 % test accuracy after 6s,"},
        Case{"stop-after-time", "6s", 6.1, 0.9, 0, 0, "name no winner, for budgets differ"},
        Case{"stop-after-bytes", "1GB", 7, 9, 1000000000, 1040000000, "test accuracy after 1GB sent by a rank,"},
        Case{"stop-after-bytes", "1GB", 7, 9, 1000000000, 200000000, "name no winner, for budgets differ"}}) {
    const MadeRuns place;
    const std::map<std::string, std::string> settings = {{one.option, one.value}};
    make_run(place, "a", {.accuracies = {0.8}, .seconds = one.seconds, .bytes = one.bytes, .settings = settings});
    make_run(place, "b",
             {.communicator = "easgd",
              .accuracies = {0.6},
              .seconds = one.others_seconds,
              .epochs = 3,
              .bytes = one.others_bytes,
              .settings = settings});
    expect_parts(verdict(place).at(0), {one.words});
  }
}

// The words for a run of so many samples of a large training set, or of windows of 64 tokens.
std::string length_of(std::int64_t samples, std::int64_t tokens, std::map<std::string, std::string> settings) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.8}, .tokens_per_sample = tokens}, 2, 0.01);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.4, 0.6}, .tokens_per_sample = tokens}, 2, 0.01);
  RunList runs = read_made(place);
  for (RunRecord& run : runs.runs) {
    run.train_samples = 6000000;
    run.summary->samples = samples;
    run.summary->epochs = static_cast<double>(samples) / 6e6;
    run.settings.insert(settings.begin(), settings.end());
    if (settings.contains("max-samples") || settings.contains("max-tokens")) run.settings["epochs"] = "1000000";
  }
  const std::string sentence = compare_runs(std::move(runs), {}).verdict.at(0);
  const std::size_t from = sentence.find(" after ");
  return sentence.substr(from + 1, sentence.find(" (", from) - from - 1);
}

TEST(Verdict, counts_samples_or_tokens_of_less_than_a_tenth_of_an_epoch) {
  EXPECT_EQ(length_of(6000, 0, {}), "after 6000 samples");
  EXPECT_EQ(length_of(6000, 64, {}), "after 384000 tokens");
  EXPECT_EQ(length_of(960000, 64, {}), "after 0.16 epochs");
  EXPECT_EQ(length_of(12000000, 0, {{"max-samples", "12000000"}}), "after 12000000 samples");
  EXPECT_EQ(length_of(1200000, 64, {{"max-tokens", "76800000"}}), "after 76800000 tokens");
}

TEST(Verdict, names_nobody_first_from_one_evaluation) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.8}, .seconds = 4}, 3, 0.01);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.6}, .seconds = 8}, 3, 0.01);
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.verdict,
            Texts({"With one rank and batch 10, allreduce is ahead with 81.00 % test accuracy after 1 epoch, 20.00 "
                   "points more than easgd; but one evaluation of each run names no winner: evaluate more often "
                   "(--evaluations, or run.evaluate in a program of your own).",
                   "With one rank and batch 10, allreduce came to 60 % test accuracy within 4.0 s, easgd within 8.0 s; "
                   "but one evaluation of each run does not tell which was first: evaluate more often "
                   "(--evaluations, or run.evaluate in a program of your own)."}));
  for (const NamedMeasure& named : named_measures()) {
    const bool is_by_time = named.measure == Measure::kSeconds || named.measure == Measure::kSamplesPerSecond;
    EXPECT_EQ(standing_of(comparison, 0, named.measure), is_by_time ? Standing::kFirst : Standing::kNone) << named.name;
  }
}

TEST(Verdict, names_nobody_fastest_if_another_may_have_been_there_before_its_first_evaluation) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.8}, .seconds = 4}, 2, 0);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.7, 0.8}, .seconds = 12}, 2, 0);
  EXPECT_EQ(verdict(place, 0.6).at(1),
            "With one rank and batch 10, allreduce came to 60 % test accuracy in 3.0 s, easgd within 6.0 s; but a "
            "method came there before its first evaluation, so which was first is not known: evaluate more often "
            "(--evaluations, or run.evaluate in a program of your own), or choose a farther target (eave "
            "report --target).");
  expect_parts(verdict(place, 0.72).at(1), {"allreduce was the fastest to 72 % test accuracy: it came there in 3.6 s"});
}

TEST(Verdict, says_within_of_the_fastest_if_it_was_there_before_its_first_evaluation) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.7, 0.8}, .seconds = 4}, 2, 0);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.4, 0.8}, .seconds = 8}, 2, 0);
  expect_parts(verdict(place, 0.6).at(1),
               {"it came there within 2.0 s (", "), at least 3.00 times as fast as easgd ("});
}

TEST(Verdict, writes_short_times_with_two_figures) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.4, 0.8}, .seconds = 0.08});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.4, 0.8}, .seconds = 0.06});
  expect_parts(verdict(place, 0.8).at(1), {"easgd came to 80 % test accuracy in 0.060 s, allreduce in 0.080 s; but"});
}

// All runs were given 4 s, so nobody is faster by having taken a little less.
TEST(Standings, are_not_given_by_the_measure_that_the_budget_fixed) {
  const auto standing = [](const std::string& option, const std::string& budget, Measure measure) {
    const MadeRuns place;
    const std::map<std::string, std::string> settings = {{option, budget}};
    make_seeds(place, "a", {.ranks = 2, .accuracies = {0.4, 0.8}, .seconds = 4, .bytes = 1000, .settings = settings}, 3,
               0.01);
    make_seeds(place, "b",
               {.communicator = "easgd",
                .ranks = 2,
                .accuracies = {0.4, 0.8},
                .seconds = 4.01,
                .bytes = 1010,
                .settings = settings},
               3, 0.01);
    return standing_of(compare_runs(read_made(place), {}), 0, measure);
  };
  EXPECT_EQ(standing("stop-after-time", "4s", Measure::kSeconds), Standing::kNone);
  EXPECT_EQ(standing("stop-after-time", "4s", Measure::kBytes), Standing::kFirst);
  EXPECT_EQ(standing("stop-after-bytes", "1000B", Measure::kSeconds), Standing::kFirst);
  EXPECT_EQ(standing("stop-after-bytes", "1000B", Measure::kBytes), Standing::kNone);
  EXPECT_EQ(standing("stop-after-bytes", "800B", Measure::kBytes), Standing::kNone) << "ended beyond it";
  EXPECT_EQ(standing("stop-after-bytes", "2000B", Measure::kBytes), Standing::kFirst) << "ended by something else";
}

TEST(Verdict, says_that_nobody_came_to_the_target) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.6, 0.5}}, 2, 0.01);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.4, 0.5}}, 2, 0.01);
  EXPECT_EQ(
      verdict(place, 0.99).at(1),
      "With one rank and batch 10, no method came to 99 % test accuracy in every run (best of any run: 61.00 %).");
}

}  // namespace
}  // namespace eave
