// Compares whole sentences about crafted runs, so that they claim no more than they may.
#include <gtest/gtest.h>

#include <array>

#include "report/compare/comparison.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

Texts verdict(const MadeRuns& place, std::optional<double> target = {}) {
  return compare_runs(read_made(place), target).verdict;
}

// The accuracies are 0.80, 0.81, 0.82 and 0.70, 0.71, 0.72. Both have t(0.975, 2) 0.01 / sqrt(3) = 0.0248 to each side.
// The difference has standard error 0.01 sqrt(2/3) and 4 degrees of freedom: 0.0227 to each side, t = 12.2, p =
// 0.00026.
TEST(Verdict, names_the_winner_with_interval_lead_and_p) {
  const MadeRuns place;
  make_seeds(place, "a", {.ranks = 4, .accuracies = {0.4, 0.8}}, 3, 0.01);
  make_seeds(place, "b", {.communicator = "easgd", .ranks = 4, .accuracies = {0.4, 0.7}, .settings = {{"tau", "5"}}}, 3,
             0.01);
  EXPECT_EQ(
      verdict(place).at(0),
      "With 4 ranks and batch 10 per rank, allreduce won: 81.00 % test accuracy after 1 epoch (95 % interval 78.52 "
      "to 83.48, 3 seeds), 10.00 points more than easgd tau=5 (7.73 to 12.27, p < 0.001).");
}

TEST(Verdict, names_no_winner_where_the_difference_may_be_chance) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.80}}, 3, 0.01);
  make_seeds(place, "b", {.communicator = "none", .accuracies = {0.79}}, 3, 0.01);
  make_seeds(place, "c", {.communicator = "easgd", .accuracies = {0.70}}, 3, 0.01);
  EXPECT_EQ(
      verdict(place).at(0),
      "With one rank and batch 10, no method won on test accuracy: allreduce has 81.00 % test accuracy after 1 epoch "
      "(95 % interval 78.52 to 83.48, 3 seeds); its lead of 1.00 points over none (-1.27 to 3.27, p = 0.29) may be "
      "chance. It has 10.00 points more than easgd (7.73 to 12.27, p < 0.001).");
}

TEST(Verdict, says_that_one_run_each_proves_nothing) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.8}, .seconds = 4});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.6}, .seconds = 6});
  EXPECT_EQ(
      verdict(place),
      Texts({"With one rank and batch 10, allreduce is ahead with 80.00 % test accuracy after 1 epoch, 20.00 points "
             "more than easgd; but one run of a method proves nothing: repeat with more seeds.",
             "With one rank and batch 10, allreduce came to 60 % test accuracy first, in 4.0 s, easgd in 6.0 s; but "
             "one run of a method proves nothing: repeat with more seeds."}));
}

// The runs take 4 s and 8 s, without scatter.
TEST(Verdict, names_the_fastest_to_the_target_and_who_never_got_there) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.8}, .seconds = 4}, 2, 0);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.8}, .seconds = 8}, 2, 0);
  make_seeds(place, "c", {.communicator = "none", .accuracies = {0.5}, .seconds = 2}, 2, 0);
  EXPECT_EQ(
      verdict(place, 0.8).at(1),
      "With one rank and batch 10, allreduce was the fastest to 80 % test accuracy: 4.0 s (95 % interval 4.0 to 4.0, "
      "2 seeds), 4.0 s less than easgd (4.0 to 4.0, p < 0.001). Not every run got there: none.");
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

// Runs with such a budget end with the first evaluation after it is used up.
TEST(Verdict, takes_a_time_and_bytes_that_all_were_given_for_equal_budgets) {
  for (const auto& [option, value, words] :
       {std::array{"stop-after-time", "6s", "after 6s,"}, {"stop-after-bytes", "1GB", "after 1GB sent by a rank,"}}) {
    const MadeRuns place;
    make_run(place, "a", {.accuracies = {0.8}, .seconds = 7, .settings = {{option, value}}});
    make_run(place, "b",
             {.communicator = "easgd", .accuracies = {0.6}, .seconds = 9, .epochs = 3, .settings = {{option, value}}});
    const std::string sentence = verdict(place).at(0);
    expect_parts(sentence, {std::string("80.00 % test accuracy ") + words});
  }
}

TEST(Verdict, of_each_number_of_ranks_begins_with_the_most_and_ends_with_one_rank_alone) {
  const MadeRuns place;
  for (const int ranks : {2, 4}) {
    make_run(place, "a" + std::to_string(ranks), {.ranks = ranks, .accuracies = {0.8}});
    make_run(place, "b" + std::to_string(ranks), {.communicator = "easgd", .ranks = ranks, .accuracies = {0.6}});
  }
  make_run(place, "one", {.communicator = "none", .accuracies = {0.9}, .seconds = 20});
  const Texts sentences = verdict(place, 0.95);
  ASSERT_EQ(sentences.size(), 3u);
  EXPECT_TRUE(sentences[0].starts_with("With 4 ranks and batch 10 per rank, allreduce is ahead"));
  EXPECT_TRUE(sentences[1].starts_with("With 2 ranks and batch 10 per rank, allreduce is ahead"));
  EXPECT_EQ(sentences[2],
            "One rank alone had 90.00 % test accuracy (none, batch 10, 1000 samples in 20.0 s, one run).");
}

TEST(Verdict, compares_nothing_across_data_sets) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.8}});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.6}, .settings = {{"data", "mnist"}}});
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.verdict,
            Texts({"No two methods ran with the same ranks, batch, model and data: no winner can be named."}));
  EXPECT_EQ(comparison.notes.at(0),
            "The data differ, and accuracies on one say nothing of those on another: digits with 1000 training and 100 "
            "test samples, mnist with 1000 training and 100 test samples.");
}

TEST(Verdict, says_so_where_no_run_finished) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.8}, .finishes = false});
  EXPECT_EQ(verdict(place), Texts({"No run finished: nothing can be said of which method is better."}));
}

TEST(Notes, warn_of_a_seed_that_stands_there_twice) {
  const MadeRuns place;
  make_run(place, "a", {.seed = 1, .accuracies = {0.8}});
  make_run(place, "b", {.seed = 1, .accuracies = {0.8}});
  EXPECT_EQ(compare_runs(read_made(place), {}).notes.at(0),
            "A seed stands there more than once, and runs of the same seed are not independent: allreduce.");
}

}  // namespace
}  // namespace eave
