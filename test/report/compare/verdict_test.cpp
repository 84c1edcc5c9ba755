// Compares whole sentences about crafted runs, so that they claim no more than they may.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "report/compare/comparison.h"
#include "test/expectations.h"
#include "test/report/compare/verdict_of.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

// The accuracies are 0.80, 0.81, 0.82 and 0.70, 0.71, 0.72. Both have t(0.975, 2) 0.01 / sqrt(3) = 0.0248 to each side.
// They rise together, so seeds are paired. Their differences are all 0.10, but known no finer than one of 100 samples:
// deviation 0.01 / sqrt(6), 0.0101 to each side, t = 42.4, p = 0.00056.
TEST(Verdict, names_the_winner_with_interval_lead_and_p) {
  const MadeRuns place;
  make_seeds(place, "a", {.ranks = 4, .accuracies = {0.4, 0.8}}, 3, 0.01);
  make_seeds(place, "b", {.communicator = "easgd", .ranks = 4, .accuracies = {0.4, 0.7}, .settings = {{"tau", "5"}}}, 3,
             0.01);
  EXPECT_EQ(
      verdict(place).at(0),
      "With 4 ranks and batch 10 per rank, allreduce won: 81.00 % test accuracy after 1 epoch (95 % interval 78.52 "
      "to 83.48, 3 seeds), 10.00 points more than easgd tau=5 (8.99 to 11.01, p < 0.001).");
}

// Paired as above. The lead over none has t = 4.24, p = 0.051; that over easgd counts for three pairs of methods.
TEST(Verdict, names_no_winner_where_the_difference_may_be_chance) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.80}}, 3, 0.01);
  make_seeds(place, "b", {.communicator = "none", .accuracies = {0.4, 0.79}}, 3, 0.01);
  make_seeds(place, "c", {.communicator = "easgd", .accuracies = {0.4, 0.70}}, 3, 0.01);
  EXPECT_EQ(
      verdict(place).at(0),
      "With one rank and batch 10, no method won on test accuracy: allreduce has 81.00 % test accuracy after 1 epoch "
      "(95 % interval 78.52 to 83.48, 3 seeds); its lead of 1.00 points over none (-0.01 to 2.01, p = 0.051) may be "
      "chance; at this scatter about 1 more seed of each would tell them apart. It has 10.00 points more than easgd "
      "(8.20 to 11.80, p = 0.0017).");
}

TEST(Verdict, says_that_one_run_each_proves_nothing) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.8}, .seconds = 4});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.6}, .seconds = 6});
  EXPECT_EQ(
      verdict(place),
      Texts({"With one rank and batch 10, allreduce is ahead with 80.00 % test accuracy after 1 epoch, 20.00 points "
             "more than easgd; but one seed of a method proves nothing: repeat with more seeds.",
             "With one rank and batch 10, allreduce came to 60 % test accuracy within 4.0 s, easgd within 6.0 s; but "
             "one seed of a method proves nothing: repeat with more seeds."}));
}

TEST(Verdict, says_level_of_equal_values) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.8}});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.8}});
  EXPECT_EQ(
      verdict(place).at(0),
      "With one rank and batch 10, allreduce and easgd are level with 80.00 % test accuracy after 1 epoch; but one "
      "seed of a method proves nothing: repeat with more seeds.");
}

// 0.1 + 0.2 + 0.3 differs from 0.3 + 0.2 + 0.1 in the last bit.
TEST(Verdict, says_level_of_the_same_scores_in_another_order_of_seeds) {
  const MadeRuns place;
  for (int seed = 1; seed <= 3; ++seed) {
    make_run(place, "a" + std::to_string(seed), {.seed = seed, .accuracies = {0.05, 0.1 * seed}});
    make_run(place, "b" + std::to_string(seed),
             {.communicator = "easgd", .seed = seed, .accuracies = {0.05, 0.1 * (4 - seed)}});
  }
  const std::string sentence = verdict(place).at(0);
  EXPECT_TRUE(sentence.ends_with(" is level with it.")) << sentence;
}

TEST(Verdict, of_each_number_of_ranks_begins_with_the_most_and_ends_with_one_rank_alone) {
  const MadeRuns place;
  for (const int ranks : {2, 4}) {
    make_run(place, "a" + std::to_string(ranks), {.ranks = ranks, .accuracies = {0.8}});
    make_run(place, "b" + std::to_string(ranks), {.communicator = "easgd", .ranks = ranks, .accuracies = {0.6}});
  }
  make_run(place, "one", {.communicator = "none", .accuracies = {0.9}, .seconds = 20});
  const Texts sentences = verdict(place, 0.95);
  ASSERT_EQ(sentences.size(), 5u);
  EXPECT_TRUE(sentences[0].starts_with("With 4 ranks and batch 10 per rank, allreduce is ahead"));
  EXPECT_TRUE(sentences[1].starts_with("With 4 ranks and batch 10 per rank, no method came to 95 % test accuracy"));
  EXPECT_TRUE(sentences[2].starts_with("With 2 ranks and batch 10 per rank, allreduce is ahead"));
  EXPECT_TRUE(sentences[3].starts_with("With 2 ranks and batch 10 per rank, no method came to 95 % test accuracy"));
  EXPECT_EQ(sentences[4],
            "One rank alone had 90.00 % test accuracy (none, batch 10, 1000 samples in 20.0 s, one seed).");
}

TEST(Verdict, compares_nothing_across_data_sets) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.8}});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.6}, .settings = {{"data", "mnist"}}});
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.verdict,
            Texts({"No two methods ran with the same ranks, batch, model and data: no winner can be named."}));
  EXPECT_EQ(comparison.notes.at(0),
            "The data differ, and accuracy on one says nothing of that on another: digits with 1000 training and 100 "
            "test samples, mnist with 1000 training and 100 test samples.");
}

TEST(Verdict, says_so_where_no_run_finished) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.8}, .finishes = false});
  EXPECT_EQ(verdict(place), Texts({"No run finished: nothing can be said of which method is better."}));
}

TEST(Verdict, of_equal_values_names_nobody) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.8}}, 3, 0);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.4, 0.8}}, 3, 0);
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.verdict.at(0),
            "With one rank and batch 10, no method won on test accuracy: allreduce has 80.00 % test accuracy after 1 "
            "epoch (95 % interval 80.00 to 80.00, 3 seeds), and easgd is level with it.");
  for (const std::size_t variant : {0u, 1u})
    EXPECT_EQ(standing_of(comparison, variant, Measure::kScore), Standing::kTied);
}

TEST(Verdict, names_nobody_by_values_that_are_no_numbers) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.8}}, 3, 0);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.4, 0.7}}, 3, 0);
  RunList runs = read_made(place);
  runs.runs[1].summary->evaluation.center.accuracy = std::nan("");
  EXPECT_EQ(compare_runs(std::move(runs), {}).verdict.at(0),
            "With one rank and batch 10, values of test accuracy name no winner, for some are not finite numbers.");
}

TEST(Verdict, compares_what_is_there_if_no_run_of_a_method_finished) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.8}}, 2, 0.01);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.4, 0.6}}, 2, 0.01);
  make_seeds(place, "c", {.communicator = "gossip", .accuracies = {0.4, 0.9}, .finishes = false}, 2, 0.01);
  expect_parts(verdict(place).at(0), {"allreduce won", "points more than easgd"});
}

TEST(Verdict, says_that_a_method_has_diverged_if_no_other_is_left) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.8}}, 2, 0.01);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.4}, .finishes = false}, 2, 0.01);
  RunList runs = read_made(place);
  const std::string rest =
      ": no two other methods ran with the same ranks, batch, model and data, so no winner can be named.";
  EXPECT_EQ(compare_runs(runs, {}).verdict, Texts({"easgd finished no run" + rest}));
  for (RunRecord& run : runs.runs) {
    if (run.end == RunEnd::kInterrupted) run.end = RunEnd::kDiverged;
  }
  EXPECT_EQ(compare_runs(runs, {}).verdict, Texts({"easgd diverged in all its runs" + rest}));
}

TEST(Verdict, writes_as_many_decimals_as_a_narrow_interval_and_a_small_lead_need) {
  const MadeRuns place;
  const Metric perplexity{"perplexity", true};
  make_seeds(place, "a", {.metric = perplexity, .accuracies = {30, 17.3162}, .seconds = 40.04}, 3, 1e-5);
  make_seeds(place, "b", {.communicator = "easgd", .metric = perplexity, .accuracies = {30, 17.3122}, .seconds = 40}, 3,
             1e-5);
  EXPECT_EQ(
      verdict(place, 20.0).at(0),
      "With one rank and batch 10, easgd won: test perplexity 17.312210 after 1 epoch (95 % interval 17.312185 to "
      "17.312235, 3 seeds), 0.004000 less than allreduce (0.004000 to 0.004000, p < 0.001).");
  expect_parts(verdict(place, 20.0).at(1),
               {"easgd was the fastest to test perplexity 20: it came there in 35.763190 s (",
                "), 1.0011 times as fast as allreduce (1.0011 to 1.0011, p < 0.001)."});
}

// The scores of a script that ignores its seed do not scatter, so that any difference would seem certain.
TEST(Verdict, names_no_winner_from_copies_of_a_program_s_run) {
  const auto compared = [](double step) {
    const MadeRuns place;
    for (const auto& [name, end] : {std::pair("allreduce", 0.8), std::pair("easgd", 0.7)})
      make_seeds(place, name,
                 {.communicator = name, .accuracies = {0.4, 0.6, end}, .settings = {{"program", "train.py"}}}, 3, step);
    return compare_runs(read_made(place), 0.7);
  };
  const Comparison copies = compared(0);
  const std::string why =
      "; but runs of several seeds are copies of one another and prove nothing: the program must use its seed "
      "(plan.seed).";
  EXPECT_EQ(copies.verdict.at(0),
            "With one rank and batch 10, allreduce is ahead with 80.00 % test accuracy after 1 epoch, 10.00 points "
            "more than easgd" +
                why);
  EXPECT_TRUE(copies.verdict.at(1).ends_with(why)) << copies.verdict.at(1);
  EXPECT_EQ(copies.notes.at(0),
            "Runs of several seeds are copies of one another to the last digit, so the program seems not to use its "
            "seed (plan.seed): allreduce, easgd.");
  EXPECT_EQ(standing_of(copies, 0, Measure::kScore), Standing::kNone);
  expect_parts(compared(0.01).verdict.at(0), {"allreduce won"});
}

// Few samples make equal scores likely: a program without losses that scores 50 % and then 100 % may use its seed.
TEST(Verdict, takes_equal_scores_for_copies_only_if_they_are_many) {
  const auto are_copies = [](const std::vector<double>& scores) {
    const MadeRuns place;
    make_seeds(place, "a", {.accuracies = scores, .settings = {{"program", "train.py"}}, .knows_loss = false}, 3, 0);
    return compare_runs(read_made(place), {}).variants.at(0).are_copies;
  };
  EXPECT_FALSE(are_copies({0.5, 1.0}));
  EXPECT_TRUE(are_copies({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}));
}

// 4 methods with 100 seeds each: three alike, and one better by as much as a tenth of the scatter of one run.
TEST(Verdict, reads_400_runs) {
  const MadeRuns place;
  const std::vector<std::string> methods = {"allreduce", "easgd", "gossip", "local-sgd"};
  for (std::size_t i = 0; i < methods.size(); ++i) {
    for (int seed = 1; seed <= 100; ++seed) {
      const double end = 0.7 + 0.001 * (seed * (7 + 2 * static_cast<int>(i)) % 101) + (i == 1 ? 0.05 : 0);
      make_run(place, methods[i] + std::to_string(seed),
               {.communicator = methods[i], .seed = seed, .accuracies = {0.4, end}});
    }
  }
  expect_parts(verdict(place).at(0),
               {"easgd won: 80.05 % test accuracy", "100 seeds", "p < 0.001", "allreduce", "gossip"});
}

// The sentence, the stars and the numbers of the table come from one rule.
TEST(Standings, agree_with_the_sentence) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.80}}, 3, 0.01);
  make_seeds(place, "b", {.communicator = "none", .accuracies = {0.4, 0.79}}, 3, 0.01);
  make_seeds(place, "c", {.communicator = "easgd", .accuracies = {0.4, 0.70}}, 3, 0.01);
  const Comparison comparison = compare_runs(read_made(place), {});
  std::map<std::string, Standing> standings;
  for (std::size_t i = 0; i < 3; ++i)
    standings[comparison.variants[i].method] = standing_of(comparison, i, Measure::kScore);
  EXPECT_EQ(standings, (std::map<std::string, Standing>{
                           {"allreduce", Standing::kTied}, {"none", Standing::kTied}, {"easgd", Standing::kBehind}}));
}

// The same three runs again, as from another directory, make nothing surer.
TEST(Verdict, counts_each_seed_once) {
  const auto verdict = [](bool are_doubled) {
    const MadeRuns place;
    for (const std::string& copy : are_doubled ? Texts{"a", "b"} : Texts{"a"}) {
      make_seeds(place, copy + "allreduce", {.ranks = 2, .accuracies = {0.5, 0.80}}, 3, 0.01);
      make_seeds(place, copy + "easgd", {.communicator = "easgd", .ranks = 2, .accuracies = {0.5, 0.83}}, 3, 0.01);
    }
    return compare_runs(read_made(place), {}).verdict;
  };
  ASSERT_NE(verdict(false).at(0).find(", 3 seeds)"), std::string::npos) << verdict(false).at(0);
  EXPECT_EQ(verdict(true), verdict(false));
}

// The first rate has the better mean over seeds, and the worse one over runs.
TEST(LearningRate, counts_each_seed_once) {
  const MadeRuns place;
  const auto make = [&](const std::string& name, const std::string& rate, int seed, double score) {
    make_run(place, name, {.seed = seed, .accuracies = {score}, .validation = {score}, .settings = {{"lr", rate}}});
  };
  make("a", "0.1", 1, 0.9);
  for (const char* name : {"b", "c", "d"}) make(name, "0.1", 2, 0.5);
  make("e", "0.3", 1, 0.6);
  make("f", "0.3", 2, 0.7);
  const std::vector<Variant> variants = compare_runs(read_made(place), {}).variants;
  EXPECT_TRUE(variants[0].chosen);
  EXPECT_EQ(variants[0].loss->n, 2u);
  EXPECT_NEAR(variants[0].loss->mean, 0.3, 1e-12);
}

TEST(Verdict, of_several_runs_of_one_seed_speaks_of_the_seed) {
  const MadeRuns place;
  for (const char* copy : {"a", "b"}) {
    make_run(place, copy + std::string("1"), {.accuracies = {0.4, 0.8}});
    make_run(place, copy + std::string("2"), {.communicator = "easgd", .accuracies = {0.4, 0.7}});
  }
  expect_parts(verdict(place).at(0), {"one seed of a method proves nothing: repeat with more seeds"});
}

}  // namespace
}  // namespace eave
