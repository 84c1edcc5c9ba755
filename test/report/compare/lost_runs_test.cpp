// Tests the verdict about methods that lost runs: they diverged or failed.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "report/compare/comparison.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

// Ten seeds of allreduce and `finished` of 10 seeds of easgd, whose other runs diverged.
RunList with_survivors(const MadeRuns& place, int finished) {
  make_seeds(place, "a", {.ranks = 2, .accuracies = {0.4, 0.8}}, 10, 0.001);
  make_seeds(place, "b", {.communicator = "easgd", .ranks = 2, .accuracies = {0.4, 0.9}}, finished, 0.001);
  make_seeds(place, "c",
             {.communicator = "easgd", .ranks = 2, .seed = finished + 1, .accuracies = {0.1}, .finishes = false},
             10 - finished, 0);
  RunList runs = read_made(place);
  for (RunRecord& run : runs.runs) {
    if (run.end == RunEnd::kInterrupted) run.end = RunEnd::kDiverged;
  }
  return runs;
}

const std::string kWithTwo = "With 2 ranks and batch 10 per rank, ";

TEST(Verdict, names_no_winner_of_whose_runs_some_diverged) {
  const MadeRuns place;
  const Comparison comparison = compare_runs(with_survivors(place, 2), 0.6);
  EXPECT_EQ(
      comparison.verdict,
      Texts(
          {kWithTwo + "easgd is ahead with 90.05 % test accuracy after 1 epoch, 9.60 points more than allreduce; but a "
                      "method that loses runs is no winner.",
           kWithTwo + "easgd came to 60 % test accuracy in 5.6 s, allreduce in 6.0 s; but a method that loses runs is "
                      "no winner. Not every run got there: easgd.",
           kWithTwo + "8 of 10 runs of easgd diverged; lost runs count in no mean."}));
  for (const Measure measure : {Measure::kScore, Measure::kSecondsToTarget})
    for (const std::size_t variant : {0u, 1u}) EXPECT_EQ(standing_of(comparison, variant, measure), Standing::kNone);
}

TEST(Verdict, offers_no_more_seeds_to_methods_that_lose_runs) {
  const MadeRuns place;
  make_seeds(place, "a", {.accuracies = {0.4, 0.80}}, 3, 0.01);
  make_seeds(place, "b", {.communicator = "easgd", .accuracies = {0.4, 0.79}}, 3, 0.01);
  RunList runs = read_made(place);
  expect_parts(compare_runs(runs, {}).verdict.at(0), {"may be chance; at this scatter about 1 more seed of each"});
  make_run(place, "c", {.communicator = "easgd", .seed = 4, .accuracies = {0.1}, .finishes = false});
  runs = read_made(place);
  for (RunRecord& run : runs.runs) {
    if (run.end == RunEnd::kInterrupted) run.end = RunEnd::kFailed;
  }
  const Texts verdict = compare_runs(runs, {}).verdict;
  EXPECT_TRUE(verdict.at(0).ends_with("p = 0.051) may be chance.")) << verdict.at(0);
  EXPECT_EQ(verdict.back(), "With one rank and batch 10, 1 of 4 runs of easgd failed; lost runs count in no mean.");
}

TEST(Verdict, says_every_finished_run_of_a_method_that_lost_some) {
  const MadeRuns place;
  expect_parts(compare_runs(with_survivors(place, 2), 0.88).verdict.at(1),
               {"only easgd came to 88 % test accuracy in every finished run, in 7.8 s (",
                "Not every run got there: allreduce, easgd."});
}

TEST(Verdict, names_methods_without_a_finished_run) {
  const MadeRuns place;
  make_seeds(place, "d", {.communicator = "gossip", .ranks = 2, .accuracies = {0.4, 0.7}}, 3, 0.001);
  EXPECT_EQ(compare_runs(with_survivors(place, 0), {}).verdict.back(),
            kWithTwo + "all 10 runs of easgd diverged; lost runs count in no mean.");
}

TEST(Verdict, names_methods_that_lost_all_runs_at_another_number_of_ranks) {
  const MadeRuns place;
  make_seeds(place, "d", {.ranks = 4, .accuracies = {0.4, 0.8}}, 2, 0.001);
  make_seeds(place, "e", {.communicator = "easgd", .ranks = 4, .accuracies = {0.1}, .finishes = false}, 2, 0);
  const Texts verdict = compare_runs(with_survivors(place, 10), {}).verdict;
  EXPECT_TRUE(std::ranges::count(
      verdict, "With 4 ranks and batch 10 per rank, all 2 runs of easgd diverged; lost runs count in no mean."));
}

TEST(Verdict, counts_no_run_as_lost_that_may_still_go_on) {
  const MadeRuns place;
  make_run(place, "d", {.communicator = "gossip", .ranks = 2, .accuracies = {0.1}, .finishes = false});
  make_seeds(place, "a", {.ranks = 2, .accuracies = {0.4, 0.8}}, 2, 0.01);
  make_seeds(place, "b", {.communicator = "easgd", .ranks = 2, .accuracies = {0.4, 0.7}}, 2, 0.01);
  for (const std::string& sentence : compare_runs(read_made(place), {}).verdict)
    EXPECT_EQ(sentence.find("lost runs"), std::string::npos) << sentence;
}

}  // namespace
}  // namespace eave
