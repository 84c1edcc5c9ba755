// Tests how runs become variants, which learning rate represents a method, and which numbers a comparison reports.
#include "report/compare/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/compare/scaling_table.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

Comparison compared(const MadeRuns& place, std::optional<double> target = {}) {
  return compare_runs(read_made(place), target);
}

std::vector<std::string> labels(const Comparison& comparison) {
  std::vector<std::string> found;
  for (const Variant& variant : comparison.variants) found.push_back(variant.label);
  return found;
}

TEST(Variants, put_runs_together_that_differ_in_seed_and_in_how_they_were_watched) {
  const MadeRuns place;
  make_run(place, "a", {.seed = 1, .accuracies = {0.5}, .settings = {{"run-dir", "a"}, {"progress", "bar"}}});
  make_run(place, "b", {.seed = 2, .accuracies = {0.5}, .settings = {{"run-dir", "b"}, {"evaluate-every", "2"}}});
  make_run(place, "c", {.seed = 1, .accuracies = {0.5}, .settings = {{"momentum", "0.5"}}});
  const Comparison comparison = compared(place);
  EXPECT_EQ(labels(comparison), Texts({"allreduce", "allreduce momentum=0.5"}));
  EXPECT_EQ(comparison.variants[0].runs, std::vector<std::size_t>({0, 1}));
  EXPECT_EQ(comparison.differing, Texts({"momentum"}));
}

TEST(Variants, are_named_by_what_tells_them_apart) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.5}});
  make_run(place, "b", {.communicator = "easgd", .ranks = 2, .accuracies = {0.5}, .settings = {{"tau", "10"}}});
  make_run(place, "c", {.ranks = 2, .accuracies = {0.5}, .settings = {{"batch", "20"}, {"batch-means", "total"}}});
  make_run(place, "d", {.ranks = 2, .accuracies = {0.5}, .settings = {{"lr", "0.3"}, {"model", "lenet"}}});
  const Comparison comparison = compared(place);
  EXPECT_EQ(labels(comparison), Texts({"allreduce, 2 ranks, batch 10, lr 0.3, model=lenet",
                                       "allreduce, 1 rank, batch 10, lr 0.1, model=mlp",
                                       "allreduce, 2 ranks, batch 20 in all, lr 0.1, model=mlp",
                                       "easgd tau=10, 2 ranks, batch 10, lr 0.1, model=mlp"}));
  EXPECT_EQ(comparison.variants[2].batch_per_rank, 10);
  EXPECT_EQ(comparison.variants[3].total_batch, 20);
}

// Else each method's name would have all options that the other kind of run lacks.
TEST(Variants, of_programs_beside_those_of_train_are_named_by_what_both_have) {
  const MadeRuns place;
  const std::map<std::string, std::string> program = {{"program", "own.py"}, {"python", "3.11.7"}, {"model", "Net"}};
  const std::map<std::string, std::string> train = {{"accumulate", "1"}, {"crop", "0"}};
  for (const std::string tau : {"5", "10"}) {
    for (const auto& [kind, settings] : {std::pair("a", program), std::pair("b", train)}) {
      MadeRun run{.communicator = "easgd", .accuracies = {0.5}, .settings = settings};
      run.settings["tau"] = tau;
      make_run(place, kind + tau, run);
    }
  }
  EXPECT_EQ(labels(compared(place)),
            Texts({"easgd tau=10, model=Net program=own.py", "easgd tau=5, model=Net program=own.py",
                   "easgd tau=10, model=mlp", "easgd tau=5, model=mlp"}));
}

TEST(Variants, of_a_lone_rank_share_the_machine_of_many_whatever_the_network_and_slow_ranks) {
  const MadeRuns place;
  make_run(place, "one", {.accuracies = {0.5}, .settings = {{"transport", "auto"}}});
  const std::map<std::string, std::string> network = {
      {"transport", "mpi"}, {"shape-rate", "100mbit"}, {"shape-jitter", "1ms"}, {"slow-rank", "1:4x"}};
  make_run(place, "two", {.ranks = 2, .accuracies = {0.5}, .seconds = 4, .settings = network});
  const Comparison comparison = compared(place);
  EXPECT_EQ(labels(comparison), Texts({"allreduce, 1 rank", "allreduce, 2 ranks"}));
  EXPECT_EQ(comparison.variants[1].speedup->mean, 2);
  EXPECT_EQ(comparison.variants[1].efficiency->mean, 1);
}

TEST(Variants, on_other_machines_give_no_speedup) {
  const MadeRuns place;
  make_run(place, "one", {.accuracies = {0.5}, .settings = {{"threads", "2"}}});
  make_run(place, "two", {.ranks = 2, .accuracies = {0.5}, .settings = {{"threads", "1"}}});
  const Comparison comparison = compared(place);
  for (const Variant& variant : comparison.variants) EXPECT_EQ(variant.speedup.has_value(), variant.ranks == 1);
  EXPECT_EQ(comparison.notes.at(0),
            "No speed-up is given for batch 10: the runs of one rank with the same batch per rank differ in threads.");
}

TEST(Variants, of_programs_that_told_no_batch_are_not_said_to_have_one) {
  const MadeRuns place;
  make_run(place, "a", {.ranks = 2, .accuracies = {0.5}});
  make_run(place, "b", {.communicator = "easgd", .ranks = 2, .accuracies = {0.6}});
  RunList list = read_made(place);
  for (RunRecord& run : list.runs) run.settings.erase("batch");
  const Comparison comparison = compare_runs(std::move(list), {});
  EXPECT_EQ(comparison.notes.at(0),
            "No speed-up is given: there is no finished run of one rank with the same batch per rank.");
  EXPECT_TRUE(comparison.verdict.at(0).starts_with("With 2 ranks, ")) << comparison.verdict.at(0);
}

TEST(Variants, have_no_speedup_against_one_rank_that_was_slowed) {
  const MadeRuns place;
  make_run(place, "one", {.accuracies = {0.5}, .settings = {{"slow-rank", "0:4x"}}});
  make_run(place, "two", {.ranks = 2, .accuracies = {0.5}});
  for (const Variant& variant : compared(place).variants) EXPECT_EQ(variant.speedup.has_value(), variant.ranks == 1);
}

TEST(Variants, have_no_interval_of_a_speedup_against_themselves) {
  const MadeRuns place;
  for (const int seed : {1, 2}) {
    const std::string name = std::to_string(seed);
    make_run(place, "one" + name, {.seed = seed, .accuracies = {0.5}, .seconds = 7.0 + seed});
    make_run(place, "two" + name, {.ranks = 2, .seed = seed, .accuracies = {0.5}, .seconds = 4});
  }
  const Comparison comparison = compared(place);
  EXPECT_EQ(comparison.variants[0].speedup->mean, 1);
  EXPECT_FALSE(comparison.variants[0].speedup->low || comparison.variants[0].efficiency->low);
  EXPECT_LT(*comparison.variants[1].speedup->low, comparison.variants[1].speedup->mean);
}

// The geometric mean of 1, 1 and 27 s is 3 s, below the other method's 4 s; the arithmetic one is 9.7 s.
TEST(Variants, have_means_in_the_order_of_the_test) {
  const MadeRuns place;
  int seed = 0;
  for (const double seconds : {1.0, 1.0, 27.0}) {
    const std::string name = std::to_string(++seed);
    make_run(place, "a" + name, {.seed = seed, .accuracies = {0.4, 0.8}, .seconds = seconds});
    make_run(place, "b" + name, {.communicator = "easgd", .seed = seed, .accuracies = {0.4, 0.8}, .seconds = 4});
  }
  const Comparison comparison = compared(place);
  const Ranking& ranking = comparison.cells.at(0).by.at(Measure::kSecondsToTarget).ranking;
  const Variant &first = comparison.variants[ranking.order[0]], &second = comparison.variants[ranking.order[1]];
  EXPECT_EQ(first.method, "allreduce");
  EXPECT_NEAR(first.seconds_to_target->mean, 3, 1e-9);
  EXPECT_NEAR(first.seconds_to_target->mean / second.seconds_to_target->mean, ranking.contrasts[0].effect, 1e-9);
  EXPECT_NEAR(first.samples_per_second->mean, 1000 / first.seconds->mean, 1e-9);
}

TEST(Variants, that_ran_on_several_numbers_of_ranks_have_no_speedup) {
  const MadeRuns place;
  make_run(place, "one", {.accuracies = {0.5}});
  make_run(place, "two", {.ranks = 2, .accuracies = {0.5}});
  RunList list = read_made(place);
  list.runs[1].ranks_in_turn = {4, 2};
  const Comparison comparison = compare_runs(std::move(list), {});
  for (const Variant& variant : comparison.variants) EXPECT_EQ(variant.speedup.has_value(), variant.ranks == 1);
  EXPECT_EQ(comparison.notes.at(0),
            "Runs were resumed on another number of ranks (--resume elastic), so their times and bytes are those of "
            "all these ranks, and they have no speed-up: two (4, then 2 ranks).");
  EXPECT_EQ(comparison.notes.at(1), "No speed-up is given for batch 10: a run was resumed on another number of ranks.");
}

TEST(LearningRate, is_chosen_by_validation_not_by_test_accuracy) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.75}, .validation = {0.5}, .settings = {{"lr", "0.1"}}});
  make_run(place, "b", {.accuracies = {0.5}, .validation = {0.75}, .settings = {{"lr", "0.3"}}});
  const std::vector<Variant> variants = compared(place).variants;
  EXPECT_FALSE(variants[0].chosen);
  EXPECT_EQ(variants[0].why_chosen, "learning rate 0.3 did better, by validation accuracy");
  EXPECT_TRUE(variants[1].chosen);
  EXPECT_EQ(variants[1].why_chosen, "best of 2 learning rates by validation accuracy");
}

TEST(LearningRate, chosen_by_test_accuracy_is_told_in_a_note) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.75}, .validation = {0.5}, .settings = {{"lr", "0.1"}}});
  make_run(place, "b", {.accuracies = {0.5}, .settings = {{"lr", "0.3"}}});
  const Comparison comparison = compared(place);
  EXPECT_TRUE(comparison.variants[0].chosen);
  EXPECT_EQ(comparison.variants[0].why_chosen, "best of 2 learning rates by test accuracy");
  EXPECT_TRUE(comparison.notes.at(0).starts_with("No validation accuracy was recorded: ")) << comparison.notes[0];
}

TEST(MovingAverage, of_variants_whose_runs_all_have_one_is_told_in_a_note) {
  const MadeRuns place;
  const auto make = [&](const std::string& name, const std::string& method, int seed, std::vector<double> averages) {
    make_run(place, name,
             {.communicator = method, .seed = seed, .accuracies = {0.5, 0.75}, .averages = std::move(averages)});
  };
  make("a1", "allreduce", 1, {0.5, 0.8});
  make("a2", "allreduce", 2, {0.5, 0.9});
  make("b1", "easgd", 1, {0.5, 0.7});
  make("b2", "easgd", 2, {});
  const Texts notes = compared(place).notes;
  const std::string expected =
      "The moving average of the consensus (--ema-decay) ended with test accuracy allreduce: 85.00 % (the consensus: "
      "75.00 %). It is in no table and no verdict.";
  EXPECT_TRUE(std::ranges::find(notes, expected) != notes.end()) << testing::PrintToString(notes);
}

TEST(LearningRate, with_which_a_seed_was_lost_goes_behind_one_with_which_none_was) {
  const MadeRuns place;
  make_run(place, "a1", {.seed = 1, .accuracies = {0.75}, .settings = {{"lr", "0.3"}}});
  make_run(place, "a2", {.seed = 2, .accuracies = {0.75}, .settings = {{"lr", "0.3"}}, .finishes = false});
  make_seeds(place, "b", {.accuracies = {0.5}}, 2, 0);
  const Comparison comparison = compared(place);
  EXPECT_TRUE(comparison.variants[0].chosen);
  EXPECT_FALSE(comparison.variants[1].chosen);
  EXPECT_EQ(comparison.variants[1].accuracy->n, 1u);
  EXPECT_EQ(comparison.notes.at(0), "Not finished, and in no mean: a2 (interrupted).");
}

TEST(LearningRate, has_the_time_of_runs_that_did_not_finish_in_what_tuning_took) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.5}, .seconds = 8, .settings = {{"lr", "0.1"}}});
  make_run(place, "b", {.accuracies = {0.5}, .seconds = 3, .settings = {{"lr", "0.3"}}, .finishes = false});
  const Comparison comparison = compared(place);
  EXPECT_EQ(comparison.variants[0].tuning.runs, 1u);
  EXPECT_EQ(comparison.variants[0].tuning.seconds, 3);
}

// A comparison in one job leaves such runs: all rates with the first seed, further seeds only at the best rate.
TEST(LearningRate, is_chosen_by_the_seeds_that_all_rates_have) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.5}, .validation = {0.5}, .settings = {{"lr", "0.1"}}});
  make_run(place, "b", {.accuracies = {0.5}, .validation = {0.75}, .settings = {{"lr", "0.3"}}});
  make_run(place, "b2", {.seed = 2, .accuracies = {0.5}, .validation = {0.125}, .settings = {{"lr", "0.3"}}});
  make_run(place, "b3", {.seed = 3, .accuracies = {0.5}, .settings = {{"lr", "0.3"}}, .finishes = false});
  const std::vector<Variant> variants = compared(place).variants;
  EXPECT_FALSE(variants[0].chosen);
  EXPECT_TRUE(variants[1].chosen);
  EXPECT_EQ(variants[1].why_chosen, "best of 2 learning rates by validation accuracy");
}

RunRecord run_with(const std::vector<double>& accuracies) {
  const MadeRuns place;
  make_run(place, "run", {.accuracies = accuracies, .seconds = 8, .samples = 1000, .bytes = 400});
  return read_made(place).runs.at(0);
}

TEST(Target, is_reached_linearly_between_evaluations) {
  const auto when = reach(run_with({0.25, 0.5, 0.75, 0.5}), 0.625);
  EXPECT_EQ(when->seconds, 5);
  EXPECT_EQ(when->samples, 625);
  EXPECT_EQ(when->bytes, 250);
}

TEST(Target, is_reached_at_the_first_evaluation_that_has_it) {
  EXPECT_EQ(reach(run_with({0.5, 0.25, 0.75, 0.5}), 0.5)->seconds, 2);
  EXPECT_EQ(reach(run_with({0.25, 0.5, 0.25, 0.75}), 0.5)->seconds, 4);
  EXPECT_FALSE(reach(run_with({0.25, 0.5}), 0.51));
  EXPECT_FALSE(reach(run_with({}), 0.5));
}

TEST(Target, is_by_default_the_highest_whole_percent_that_every_run_of_chosen_variants_had) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.89, 0.3}});
  make_run(place, "b", {.seed = 2, .accuracies = {0.5, 0.875}});
  make_run(place, "c", {.communicator = "easgd", .accuracies = {0.99}});
  make_run(place, "lost", {.communicator = "local-sgd", .accuracies = {0.1}, .finishes = false});
  make_run(place, "poor", {.communicator = "easgd", .accuracies = {0.2}, .settings = {{"lr", "9"}}});
  const Comparison comparison = compared(place);
  EXPECT_EQ(comparison.target->accuracy, 0.87);
  for (const Variant& variant : comparison.variants) EXPECT_EQ(variant.seconds_to_target.has_value(), variant.chosen);
  EXPECT_EQ(compared(place, 0.95).target->chosen_by, "--target");
  EXPECT_FALSE(compared(place, 0.95).variants[0].seconds_to_target);
}

TEST(ScalingTables, has_a_table_for_the_batch_per_rank_and_one_for_the_total_batch) {
  const MadeRuns place;
  make_run(place, "one", {.communicator = "none", .accuracies = {0.5}, .seconds = 8});
  make_run(place, "one20", {.communicator = "none", .accuracies = {0.5}, .seconds = 6, .settings = {{"batch", "20"}}});
  make_run(place, "two", {.ranks = 2, .accuracies = {0.75}, .seconds = 4});
  make_run(place, "two5", {.ranks = 2, .accuracies = {0.25}, .seconds = 16, .settings = {{"batch", "5"}}});
  const std::vector<Variant> variants = compared(place).variants;
  const std::vector<ScalingTable> tables = scaling_tables(variants);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_FALSE(tables[0].total);
  EXPECT_EQ(tables[0].batches, std::vector<double>({10}));
  EXPECT_EQ(tables[0].rows.at(1).cells.at(0)->speedup, 2);
  EXPECT_TRUE(tables[1].total);
  EXPECT_EQ(tables[1].batches, std::vector<double>({10, 20}));
  EXPECT_EQ(tables[1].rows.at(0).ranks, 1);
  EXPECT_EQ(tables[1].rows.at(1).cells.at(0)->speedup, 0.5);
  EXPECT_EQ(tables[1].rows.at(1).cells.at(1)->speedup, 1.5);
}

}  // namespace
}  // namespace eave
