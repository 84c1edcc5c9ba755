#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "report/compare/comparison.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

RunRecord run_of(double training, double each, std::size_t evaluations) {
  RunRecord run;
  run.end = RunEnd::kFinished;
  run.summary.emplace().seconds = training;
  run.evaluations.resize(evaluations);
  for (EvaluationPoint& point : run.evaluations) point.record.evaluation_seconds = each;
  return run;
}

TEST(EvaluationCost, is_the_share_of_the_whole_time_with_its_range) {
  EXPECT_EQ(evaluation_cost({run_of(9, 0.1, 10)}), "Evaluations took 1.0 s besides, 10.0 % of the whole time.");
  EXPECT_EQ(evaluation_cost({run_of(9, 0.1, 10), run_of(19, 0.5, 2)}),
            "Evaluations took 2.0 s besides, 6.7 % of the whole time (5.0 to 10.0 % of a run).");
}

TEST(EvaluationCost, is_not_told_if_it_is_small_or_no_run_finished) {
  EXPECT_EQ(evaluation_cost({}), "");
  EXPECT_EQ(evaluation_cost({run_of(1000, 0.5, 10)}), "");
  EXPECT_EQ(evaluation_cost({run_of(0, 0, 0)}), "");
  RunRecord interrupted = run_of(9, 0.1, 10);
  interrupted.end = RunEnd::kInterrupted;
  EXPECT_EQ(evaluation_cost({interrupted}), "");
}

// Three runs of one method that differ in alpha.
TEST(OptionTuning, tells_what_other_values_took_and_where_the_best_lies) {
  const MadeRuns place;
  for (const char* alpha : {"0.1", "0.2", "0.4"}) {
    const double score = std::string(alpha) == "0.4" ? 0.9 : 0.8;
    make_run(place, alpha,
             {.communicator = "easgd",
              .accuracies = std::vector<double>(10, score),
              .settings = {{"tau", "4"}, {"alpha", alpha}}});
  }
  const Comparison comparison = compare_runs(read_made(place), {});
  const auto best = std::ranges::find_if(comparison.variants, [](const Variant& each) { return !each.edges.empty(); });
  ASSERT_NE(best, comparison.variants.end());
  EXPECT_EQ(best->edges, std::vector<std::string>{"alpha 0.4 is the largest of 3 tried"});
  EXPECT_EQ(best->option_tuning, std::vector<std::string>{"alpha: 3 values, 16.0 s in 2 runs"});
  ASSERT_EQ(best->option_edges.size(), 1u);
  EXPECT_EQ(best->option_edges[0].option, "alpha");
  EXPECT_EQ(best->option_edges[0].tried, (std::vector<double>{0.1, 0.2, 0.4}));
  EXPECT_TRUE(std::ranges::count(comparison.notes,
                                 "Other values of a method's own options took, besides the best: easgd alpha=0.4 "
                                 "tau=4, alpha: 3 values, 16.0 s in 2 runs."))
      << comparison.notes.back();
}

TEST(DataNote, tells_data_apart_that_only_its_identity_does) {
  const MadeRuns place;
  make_run(place, "a", {.seed = 1, .accuracies = {0.8}, .data_identity = "0123456789abcdef"});
  make_run(place, "b", {.seed = 2, .accuracies = {0.8}, .data_identity = "fedcba9876543210"});
  make_run(place, "old", {.seed = 3, .accuracies = {0.8}});
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.variants.size(), 3u) << "no mean over different data";
  EXPECT_EQ(comparison.differing, std::vector<std::string>{"data-identity"});
  EXPECT_EQ(comparison.notes.at(0),
            "The data differ, and accuracy on one says nothing of that on another: digits with 1000 training and 100 "
            "test samples (identity 01234567), digits with 1000 training and 100 test samples (identity fedcba98), "
            "digits with 1000 training and 100 test samples (identity not recorded).");
}

// Runs of a comparison that an older eave began.
TEST(DataNote, leaves_runs_together_of_which_some_recorded_no_identity) {
  const MadeRuns place;
  make_run(place, "old", {.seed = 1, .accuracies = {0.8}});
  make_run(place, "new", {.seed = 2, .accuracies = {0.8}, .data_identity = "0123456789abcdef"});
  EXPECT_EQ(compare_runs(read_made(place), {}).variants.size(), 1u);
}

TEST(InitialParameters, tell_runs_apart_if_the_file_was_replaced) {
  const MadeRuns place;
  const std::map<std::string, std::string> settings = {{"initial-parameters", "start"}};
  make_run(place, "a", {.seed = 1, .accuracies = {0.8}, .settings = settings, .initial_identity = "0123456789abcdef"});
  make_run(place, "b", {.seed = 2, .accuracies = {0.8}, .settings = settings, .initial_identity = "fedcba9876543210"});
  EXPECT_EQ(compare_runs(read_made(place), {}).differing, std::vector<std::string>{"initial-identity"});
}

// Three ranks ran for 8 s. Others waited for rank 1 during `longest` seconds, and for each other rank during `rest`.
Texts notes_on_waits(double longest, double rest) {
  const MadeRuns place;
  make_seeds(place, "a", {.ranks = 3, .accuracies = {0.5}, .settings = {{"slow-rank", "1:4x"}}}, 2, 0);
  RunList list = read_made(place);
  for (RunRecord& run : list.runs) {
    run.summary->times_of_ranks.resize(3);
    for (RankTimes& times : run.summary->times_of_ranks) times.seconds_waited_for = rest;
    run.summary->times_of_ranks[1].seconds_waited_for = longest;
  }
  return compare_runs(std::move(list), {}).notes;
}

TEST(SlowRank, is_named_if_the_others_waited_nearly_only_for_it) {
  EXPECT_TRUE(std::ranges::count(notes_on_waits(6, 0.2),
                                 "Nearly all waiting was for one slow rank (seconds of one run, summed over the ranks "
                                 "that waited): allreduce for rank 1 (6.0 s of 6.4 s)."));
  Texts others = notes_on_waits(1, 0.1);  // less than a tenth of the ranks' time
  for (const std::string& note : notes_on_waits(3, 0.5)) others.push_back(note);  // less than 80 % of it for rank 1
  for (const std::string& note : others) EXPECT_EQ(note.find("waited"), std::string::npos) << note;
}

// The run took 8 s, of which 7 s before it was resumed. Since then rank 0 has waited for 0.3 s.
TEST(SlowRank, of_a_resumed_run_is_judged_by_the_time_since) {
  const MadeRuns place;
  make_run(place, "a", {.ranks = 2, .accuracies = {0.5}});
  RunList list = read_made(place);
  list.runs[0].seconds_before = 7;
  list.runs[0].summary->times_of_ranks.resize(2);
  list.runs[0].summary->times_of_ranks[1].seconds_waited_for = 0.3;
  EXPECT_TRUE(std::ranges::count(compare_runs(std::move(list), {}).notes,
                                 "Nearly all waiting was for one slow rank (seconds of one run, summed over the ranks "
                                 "that waited): allreduce for rank 1 (0.3 s of 0.3 s since it was resumed)."));
}

TEST(SharedCores, are_told_if_ranks_and_threads_exceed_them) {
  const auto notes = [](int threads) {
    const MadeRuns place;
    make_run(place, "a", {.ranks = 4, .accuracies = {0.5}, .settings = {{"threads", std::to_string(threads)}}});
    RunList list = read_made(place);
    list.runs[0].ranks_of_hosts = {{"big", {2, {0, 1, 2, 3}}}, {"small", {2, {0, 1}}}};
    return compare_runs(std::move(list), {}).notes;
  };
  EXPECT_EQ(notes(2).at(0),
            "Ranks shared cores, so times and speed-ups are not those of ranks with cores of their own: 2 ranks with "
            "2 threads each on 2 cores of host small.");
  for (const std::string& note : notes(1)) EXPECT_EQ(note.find("shared cores"), std::string::npos) << note;
}

TEST(OtherDifferences, tell_of_settings_that_may_explain_a_result) {
  const MadeRuns place;
  const auto make = [&](const std::string& method, const std::string& momentum, int epochs) {
    const std::map<std::string, std::string> settings = {
        {"momentum", momentum}, {"tau", method == "easgd" ? "10" : "5"}, {"epochs", std::to_string(epochs)}};
    make_run(place, method, {.communicator = method, .accuracies = {0.5}, .epochs = epochs, .settings = settings});
  };
  make("allreduce", "0.5", 1);
  make("easgd", "0.9", 2);
  make("local-sgd", "0.5", 1);
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(on_other_settings(comparison),
            "Methods differ in other settings too, which may explain the result: momentum 0.5 (allreduce tau=5, "
            "local-sgd tau=5), 0.9 (easgd tau=10).");
  EXPECT_TRUE(std::ranges::count(comparison.notes, on_other_settings(comparison)));
}

// Runs record an option without a default only if it was given.
TEST(OtherDifferences, tell_of_options_that_only_one_method_was_given) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.5}});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.5}, .settings = {{"label-smoothing", "0.3"}}});
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(on_other_settings(comparison),
            "Methods differ in other settings too, which may explain the result: label-smoothing 0.3 (easgd), none "
            "(allreduce).");
  EXPECT_TRUE(std::ranges::count(comparison.differing, "label-smoothing"));
}

TEST(OtherDifferences, say_nothing_of_what_names_tell_already) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.5}, .settings = {{"momentum", "0.5"}}});
  make_run(place, "b", {.accuracies = {0.5}, .settings = {{"momentum", "0.9"}}});
  make_run(place, "c", {.communicator = "easgd", .accuracies = {0.5}, .settings = {{"alpha", "0.9"}}});
  EXPECT_EQ(on_other_settings(compare_runs(read_made(place), {})), "");
}

// One run of each of two methods, on these hosts and by these versions.
Comparison compared_on(const std::set<std::string>& first, const std::set<std::string>& second,
                       const std::string& version) {
  const MadeRuns place;
  for (const std::string method : {"allreduce", "easgd"})
    make_run(place, method, {.communicator = method, .ranks = 2, .accuracies = {0.5}});
  RunList list = read_made(place);
  list.runs[0].hosts = first;
  list.runs[1].hosts = second;
  list.runs[0].version = "0.1.0";
  list.runs[1].version = version;
  return compare_runs(std::move(list), {});
}

TEST(OtherDifferences, tell_of_versions_and_hosts) {
  const Comparison comparison = compared_on({"a", "b"}, {"c"}, "0.2.0");
  EXPECT_EQ(on_versions(comparison),
            "Runs are by different versions of eave, so their results and times may differ for that reason: 0.1.0 "
            "(allreduce), 0.2.0 (easgd).");
  EXPECT_EQ(on_hosts(comparison),
            "Methods ran on different hosts, so their times compare only if these are alike: a, b (allreduce), c "
            "(easgd).");
  for (const std::string& note : {on_versions(comparison), on_hosts(comparison)})
    EXPECT_TRUE(std::ranges::count(comparison.notes, note));
  const Comparison alike = compared_on({"a", "b"}, {"a", "b"}, "0.1.0");
  EXPECT_EQ(on_versions(alike) + on_hosts(alike), "");
  const Comparison old = compared_on({}, {"a"}, "");
  EXPECT_EQ(on_versions(old) + on_hosts(old), "");
}

// The last evaluation is lost, but stands in the end too.
TEST(LostLines, are_told_and_the_end_counts) {
  const MadeRuns place;
  make_run(place, "run", {.accuracies = {0.5, 0.8}});
  std::string metrics = place.read("run/metrics.jsonl");
  const std::size_t evaluation = metrics.rfind("{\"type\":\"evaluation\""), end = metrics.rfind("{\"type\":\"end\"");
  metrics.replace(evaluation, end - evaluation, "{\"type\":\"lost\",\"lines\":1}\n");
  place.write("run/metrics.jsonl", metrics);
  const Comparison comparison = compare_runs(read_made(place), {});
  ASSERT_EQ(comparison.runs.at(0).evaluations.size(), 2u);
  EXPECT_EQ(comparison.runs[0].evaluations[1].record.center.accuracy, 0.8);
  EXPECT_EQ(comparison.notes.at(0),
            "Lines of metrics.jsonl are missing, because the run could not write them, so its curves, its shares of "
            "time and its costs to the target are coarse or wrong: run (1 line).");
}

TEST(Notes, say_which_runs_were_evaluated_too_seldom) {
  const MadeRuns place;
  make_run(place, "a", {.accuracies = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.8}});
  make_run(place, "b", {.communicator = "easgd", .accuracies = {0.5, 0.6}});
  EXPECT_EQ(compare_runs(read_made(place), {}).notes.at(0),
            "Evaluated fewer than 10 times, so that curves and costs to the target are coarse (--evaluations, or "
            "run.evaluate in a "
            "program of your own): easgd (2).");
}

TEST(Notes, tell_of_a_best_rate_at_the_edge_and_what_tuning_took) {
  const MadeRuns place;
  for (const char* rate : {"0.1", "0.2", "0.4"}) {
    const double score = std::string(rate) == "0.2" ? 0.8 : 0.7;
    make_run(place, std::string("a") + rate,
             {.accuracies = std::vector<double>(10, score), .settings = {{"lr", rate}}});
    make_run(place, std::string("b") + rate,
             {.communicator = "easgd",
              .accuracies = std::vector<double>(10, std::string(rate) == "0.4" ? 0.8 : 0.7),
              .settings = {{"lr", rate}}});
  }
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_EQ(comparison.notes.at(1),
            "The best value lies at the edge of what was tried, so a better one may lie outside (--widen tries the "
            "next): easgd, lr 0.4: lr 0.4 is the largest of 3 tried.");
  EXPECT_EQ(comparison.notes.at(2),
            "Learning rates were tuned; runs at rates that were not chosen took: allreduce, lr 0.2: 3 rates, 16.0 s in "
            "2 runs, easgd, lr "
            "0.4: 3 rates, 16.0 s in 2 runs.");
}

TEST(Notes, tell_of_a_best_tau_at_the_edge_but_not_of_tau_1) {
  const auto edges = [](double at_1, double at_4, double at_16) {
    const MadeRuns place;
    const std::map<std::string, double> scores = {{"1", at_1}, {"4", at_4}, {"16", at_16}};
    for (const auto& [tau, score] : scores)
      make_run(place, tau, {.communicator = "easgd", .accuracies = {score}, .settings = {{"tau", tau}}});
    Texts found;
    for (const Variant& variant : compare_runs(read_made(place), {}).variants)
      found.insert(found.end(), variant.edges.begin(), variant.edges.end());
    return found;
  };
  EXPECT_EQ(edges(0.7, 0.8, 0.9), Texts({"tau 16 is the largest of 3 tried"}));
  EXPECT_EQ(edges(0.7, 0.9, 0.8), Texts());
  EXPECT_EQ(edges(0.9, 0.8, 0.7), Texts());
}

TEST(Notes, warn_of_a_seed_that_stands_there_twice) {
  const MadeRuns place;
  make_run(place, "a", {.seed = 1, .accuracies = {0.8}});
  make_run(place, "b", {.seed = 1, .accuracies = {0.8}});
  EXPECT_EQ(
      compare_runs(read_made(place), {}).notes.at(0),
      "A seed stands there more than once, and runs of the same seed are not independent, so their mean counts as "
      "one: allreduce.");
}

}  // namespace
}  // namespace eave
