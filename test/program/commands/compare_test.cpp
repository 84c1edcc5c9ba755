// Tests `eave compare`: from a grid of runs to the files that they leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <vector>

#include "test/program/commands/compare_grid.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

nlohmann::json summary_of(const Place& place, const std::string& name) {
  return json_in(place, "all/" + name + "/summary.json");
}

TEST(Compare, leaves_a_run_directory_for_each_cell) {
  for (const int ranks : {0, 4}) {
    if (ranks > 0 && !has_mpirun()) continue;
    const Place place;
    const Ended ended =
        expect_end(0, place.eave(grid("--ranks 2,4 --seeds 2 ") + (ranks == 0 ? "--transport threads" : ""), {ranks}));
    for (const std::string seed : {"1", "2"}) {
      EXPECT_EQ(summary_of(place, "one-rank-p1-b8-seed" + seed).at("ranks"), 1);
      for (const int p : {2, 4}) {
        const std::string rest = "-p" + std::to_string(p) + "-b8-seed" + seed;
        EXPECT_EQ(summary_of(place, "allreduce" + rest).at("ranks"), p);
        EXPECT_EQ(summary_of(place, "easgd-tau-2" + rest).at("communicator"), "easgd");
      }
    }
    expect_parts(ended.output, {"10 of 10", "With 4 ranks and batch 8 per rank"});
    expect_parts(place.read("all/report.html"), {"easgd-tau-2-p4-b8-seed2"});
    expect_parts(place.read("all/variants.csv"), {"easgd tau=2"});
  }
}

// A cell of the grid leaves the same run as `eave train` with the same options.
TEST(Compare, trains_as_train_does) {
  const Place place;
  expect_end(0, place.eave(grid("--ranks 2 --seeds 1 --transport threads")));
  const std::string words = "train --transport threads --ranks 2 --communicator easgd --tau 2 --batch 8 --seed 1 " +
                            kOfEachRun + "--run-dir alone --progress off";
  const Ended alone = expect_end(0, place.eave(words));
  EXPECT_EQ(place.read("alone/model.safetensors"), place.read("all/easgd-tau-2-p2-b8-seed1/model.safetensors"));
}

TEST(Compare, takes_the_rate_with_the_best_validation_accuracy_for_the_other_seeds) {
  const Place place;
  expect_end(0, place.eave(grid("--ranks 2 --seeds 2 --epochs 3 --lr 0.001,0.1,0.01 --transport threads")));
  for (const std::string who : {"one-rank-p1", "allreduce-p2", "easgd-tau-2-p2"}) {
    std::string best;
    double most = -1;
    // Of equally good rates the lowest is chosen, as in a report.
    for (const std::string rate : {"0.001", "0.01", "0.1"}) {
      const double accuracy =
          summary_of(place, who + "-b8-lr" + rate + "-seed1")["evaluation"]["validation"]["accuracy"];
      if (accuracy > most) best = rate;
      most = std::max(most, accuracy);
    }
    for (const std::string rate : {"0.001", "0.1", "0.01"}) {
      EXPECT_EQ(fs::exists(place.path() / "all" / (who + "-b8-lr" + rate + "-seed2")), rate == best)
          << who << ", rate " << rate << ", best " << best;
    }
  }
}

TEST(Compare, tells_of_a_run_that_diverges_and_goes_on) {
  const Place place;
  const std::string words = grid(
      "--ranks 2 --seeds 2 --epochs 10 --evaluate-every 2 --transport threads --lr 100000,0.01 "
      "--model \"flatten; dense 16; dense classes\"");
  const Ended ended = expect_end(0, place.eave(words));
  for (const std::string who : {"one-rank-p1", "allreduce-p2", "easgd-tau-2-p2"}) {
    const std::string metrics = place.read("all/" + who + "-b8-lr100000-seed1/metrics.jsonl");
    expect_parts(metrics, {"\"type\":\"failure\",\"code\":76"});
    EXPECT_TRUE(fs::exists(place.path() / "all" / (who + "-b8-lr0.01-seed2"))) << who;
  }
  expect_parts(ended.output, {"diverged"});
  const Ended again = place.eave(words);
  expect_parts(again.output, {"6 of 6 runs were done before"});
}

TEST(Compare, goes_on_where_it_was_interrupted) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 2 --transport threads");
  expect_end(0, place.eave(words));
  const std::string kept = place.read("all/allreduce-p2-b8-seed1/summary.json");
  fs::remove(place.path() / "all/easgd-tau-2-p2-b8-seed2/summary.json");
  const Ended again = expect_end(0, place.eave(words));
  EXPECT_EQ(place.read("all/allreduce-p2-b8-seed1/summary.json"), kept) << "with its times";
  EXPECT_TRUE(fs::exists(place.path() / "all/easgd-tau-2-p2-b8-seed2/summary.json"));
  expect_parts(again.output, {"2 of 3 runs were done before"});
  for (const std::string option : {"momentum 0.5", "validation-share 0.1"}) {
    expect_end(78, place.eave(words + " --" + option), {"--" + option.substr(0, 8), "another directory"});
  }
  EXPECT_EQ(place.eave(words + " --seeds 3").code, 0) << "more seeds are more of the same";
}

std::ptrdiff_t evaluations_of(const Place& place, const std::string& name) {
  const std::string metrics = place.read("all/" + name + "/metrics.jsonl"), mark = "\"type\":\"evaluation\"";
  std::ptrdiff_t count = 0;
  for (std::size_t at = metrics.find(mark); at != std::string::npos; at = metrics.find(mark, at + 1)) ++count;
  return count;
}

// An epoch has 25 steps of two ranks, or 49 of one.
TEST(Compare, evaluates_ten_times_whatever_ends_the_runs) {
  for (const std::string budget : {"epochs=0.5", "samples=80", "time=100ms", "bytes=200kB"}) {
    const Place place;
    expect_end(0,
               place.eave("compare --output all --batch 2 --data synthetic --synthetic-samples 97 "
                          "--synthetic-test-samples 23 --synthetic-size 8 --model 'flatten; dense classes' --seeds 1 "
                          "--communicators allreduce --transport threads --ranks 2 --shape-compute 1ms --budget " +
                          budget));
    const std::ptrdiff_t count = evaluations_of(place, "allreduce-p2-b2-seed1");
    EXPECT_GE(count, budget.starts_with("time") ? 7 : 10) << budget << ": a busy machine may miss some";
    EXPECT_LE(count, 11) << budget;
  }
  const Place place;
  expect_end(0, place.eave(grid("--ranks 2 --seeds 1 --transport threads --evaluations 3")));
  EXPECT_EQ(evaluations_of(place, "allreduce-p2-b8-seed1"), 3);
}

// Comparisons of an older eave evaluated once an epoch, and said nothing of it in their settings.
TEST(Compare, keeps_the_runs_of_an_older_comparison) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 1 --transport threads ");
  expect_end(0, place.eave(words + "--evaluate-every 1"));
  nlohmann::json settings = json_in(place, "all/comparison.json");
  settings.erase("evaluate-every");
  place.write("all/comparison.json", settings.dump());
  expect_output(0, place.eave(words), {"3 of 3 runs were done before", "Evaluated fewer than 10 times"});
}

TEST(Compare, widens_the_rates_until_the_best_lies_inside_and_finds_the_same_again) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 1 --transport threads --lr 0.000001,0.000002 --widen");
  expect_end(0, place.eave(words));
  EXPECT_TRUE(fs::exists(place.path() / "all/allreduce-p2-b8-lr4e-06-seed1") ||
              fs::exists(place.path() / "all/allreduce-p2-b8-lr5e-07-seed1"));
  const auto count = [&] {
    return std::distance(fs::directory_iterator(place.path() / "all"), fs::directory_iterator());
  };
  const auto runs = count();
  expect_end(0, place.eave(words));
  EXPECT_EQ(count(), runs);
}

TEST(Compare, widens_the_values_of_a_methods_option_and_finds_the_same_again) {
  const Place place;
  const std::string words =
      grid("--ranks 2 --seeds 2 --transport threads --communicators easgd:tau=4,easgd:tau=8 --widen");
  expect_output(0, place.eave(words), {"easgd tau=4", "easgd tau=8", "took, besides the best: easgd tau="});
  const auto has_seed_2 = [&](const std::string& tau) {
    return fs::exists(place.path() / ("all/easgd-tau-" + tau + "-p2-b8-seed2"));
  };
  EXPECT_TRUE(has_seed_2("2") || has_seed_2("16")) << "one of both was the best, and so at an edge";
  const auto count = [&] {
    return std::distance(fs::directory_iterator(place.path() / "all"), fs::directory_iterator());
  };
  const auto runs = count();
  expect_end(0, place.eave(words));
  EXPECT_EQ(count(), runs);
}

TEST(Compare, asked_to_leave_ends_with_75_and_keeps_what_is_finished) {
  for (const bool processes : {false, true}) {
    if (processes && !has_mpirun()) continue;
    const Place place;
    const std::string launcher = processes ? mpirun(2) + " " : "", more = processes ? "" : "--transport threads ";
    expect_end(75,
               place.run("timeout -k 5 60 sh -c '" + launcher + "\"$0\" \"$@\" & p=$!; " +
                         "until ls all/*/summary.json > /dev/null 2>&1; do sleep 0.05; done; kill -USR1 $p; wait $p' " +
                         program() + " " + grid("--ranks 2 --seeds 1000 " + more)),
               {"left on request; what is finished is kept in all"});
    expect_output(0, place.eave(grid("--ranks 2 --seeds 1 " + more), {processes ? 2 : 0}),
                  {"of 3 runs were done before"});
  }
}

// A run that diverged would diverge again, so it stays. Any other failure may have been chance, so the run is repeated.
TEST(Compare, makes_a_run_anew_that_failed_for_want_of_something_or_is_damaged) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 1 --transport threads");
  expect_end(0, place.eave(words));
  const std::string run = "all/allreduce-p2-b8-seed1/";
  for (const bool has_failed : {true, false}) {
    if (has_failed) {
      fs::remove(place.path() / run / "summary.json");
      place.write(run + "metrics.jsonl", place.read(run + "metrics.jsonl") +
                                             "{\"type\":\"failure\",\"code\":71,\"message\":\"out of memory\"}\n");
    } else {
      place.write(run + "config.json", "{");
    }
    expect_output(0, place.eave(words), {"2 of 3 runs were done before"});
    EXPECT_TRUE(fs::exists(place.path() / run / "summary.json"));
  }
}

TEST(Compare, takes_its_own_options_from_the_environment_and_train_passes_them_over) {
  const Place place;
  const std::string variables = "EAVE_SEEDS=1 EAVE_OUTPUT=mine EAVE_BATCH=4,16 EAVE_COMMUNICATORS=easgd ";
  const Ended ended = expect_end(
      0,
      place.eave("compare " + kOfEachRun + "--communicators allreduce --transport threads --ranks 2", {0, variables}));
  EXPECT_EQ(ended.errors.find("EAVE_"), std::string::npos) << ended.errors;
  for (const char* name : {"one-rank-p1-b4-seed1", "one-rank-p1-b16-seed1", "allreduce-p2-b16-seed1"})
    EXPECT_TRUE(fs::exists(place.path() / "mine" / name / "summary.json")) << name;
  for (const char* name : {"one-rank-p1-b4-seed2", "easgd-p2-b4-seed1"})
    EXPECT_FALSE(fs::exists(place.path() / "mine" / name)) << name;
  const Ended alone =
      expect_end(0, place.eave(quick("--max-steps 1"), {0, "EAVE_SEEDS=2 EAVE_OUTPUT=mine EAVE_TRAIN_PORT=1"}));
  EXPECT_EQ(alone.errors.find("EAVE_"), std::string::npos) << alone.errors;
}

TEST(Compare, takes_what_an_options_file_says_of_batch_ranks_transport_and_validation) {
  const Place place;
  place.write("train.ini", "batch = 16\nranks = 2\ntransport = threads\nvalidation-share = 0.25\n");
  const std::string words = "compare " + kOfEachRun + "--communicators easgd:tau=2 --seeds 1 --lr 0.01,0.1 ";
  expect_end(0, place.eave(words + "--output all --config train.ini"));
  const auto config = json_in(place, "all/easgd-tau-2-p2-b16-lr0.1-seed1/config.json");
  EXPECT_EQ(config.at("validation-share"), "0.25");
  EXPECT_EQ(config.at("transport"), "threads");
  const std::string variables = "EAVE_TRANSPORT=threads EAVE_VALIDATION_SHARE=0.2 EAVE_RANKS=2 ";
  expect_end(0, place.eave(words + "--output mine --batch 8 --config train.ini", {0, variables}));
  EXPECT_EQ(json_in(place, "mine/easgd-tau-2-p2-b8-lr0.1-seed1/config.json").at("validation-share"), "0.2");
}

TEST(Compare, gives_every_run_the_budget_and_nothing_else) {
  const Place place;
  for (const std::string budget : {"time=50ms", "bytes=100kB", "samples=200"}) {
    const std::string of_budget = "compare --communicators easgd:tau=2 --ranks 2 --seeds 1 --batch 8 --output " +
                                  budget.substr(0, budget.find('=')) + " --budget " + budget +
                                  " --transport threads --data synthetic --synthetic-samples 97 "
                                  "--synthetic-test-samples 23 --synthetic-size 8 --model \"flatten; dense classes\" ";
    expect_end(0, place.eave(of_budget + "--dry-run"));
    expect_end(0, place.eave(of_budget));
    place.write("train.ini", "max-steps = 3\n");
    expect_end(64, place.eave(of_budget + "--config train.ini"), {"max-steps"});
  }
}

TEST(Compare, gives_every_run_on_text_the_same_tokens) {
  const Place place;
  place.write("text/a.txt", std::string(4000, 'x') + "some text");
  const std::string words =
      "compare --data text --data-dir text --context 16 --batch 8 --optimizer adamw --lr 0.01 --lr-schedule cosine "
      "--communicators easgd:tau=2 --ranks 1,2 --seeds 1 --output all --transport threads --model 'embedding 8 "
      "positions 16; layer_norm; linear 256' --budget tokens=";
  expect_end(0, place.eave(words + "1e4 --dry-run"));
  expect_end(0, place.eave(words + "1e4"));
  for (const std::string who : {"one-rank-p1", "allreduce-p2", "easgd-tau-2-p2"}) {
    const auto tokens = json_in(place, "all/" + who + "-b8-lr0.01-seed1/summary.json").at("tokens").get<int>();
    EXPECT_GE(tokens, 10'000) << who;
    EXPECT_LT(tokens, 10'000 + 2 * 8 * 16) << who;
  }
  expect_end(64, place.eave(words + "1e4 --max-samples 10"), {"contradicts --max-samples"});
  expect_end(64, place.eave(words + "1.5"), {"expected tokens= and a whole number"});
  expect_end(64, place.eave("compare --data synthetic --ranks 2 --transport threads --budget tokens=1e4"),
             {"--budget tokens=1e4 has no effect with --data synthetic"});
  expect_end(64, place.eave("compare --data synthetic --ranks 2 --transport threads --max-tokens 1e4"),
             {"--max-tokens (command line) has no effect with --data synthetic"});
}

void expect_all_three(const Place& place) {
  for (const std::string who : {"one-rank-p1", "allreduce-p2", "easgd-tau-2-p2"})
    EXPECT_TRUE(fs::exists(place.path() / "all" / (who + "-b8-seed1") / "summary.json")) << who;
}

TEST(Compare, in_parts_makes_the_same_runs) {
  const Place place;
  for (const char* part : {"1/2", "2/2"})
    ASSERT_EQ(place.eave(grid("--ranks 2 --seeds 1 --transport threads --part ") + part).code, 0);
  EXPECT_FALSE(fs::exists(place.path() / "all/report.html")) << "of one part alone it would mislead";
  expect_all_three(place);
}

// Every part finds the directory without settings, and exactly one part writes them.
TEST(Compare, in_parts_that_begin_together_makes_all_runs) {
  for (int round = 0; round < 5; ++round) {
    const Place place;
    std::vector<std::future<Ended>> parts;
    for (const char* part : {"1/3", "2/3", "3/3"}) {
      parts.push_back(
          std::async(std::launch::async, [&place, words = grid("--ranks 2 --transport threads --part ") + part] {
            return place.eave(words + " --seeds 1");
          }));
    }
    for (std::future<Ended>& part : parts) expect_end(0, part.get());
    expect_all_three(place);
    for (const auto& entry : fs::directory_iterator(place.path() / "all"))
      EXPECT_NE(entry.path().extension(), ".lock") << entry.path();
  }
}

TEST(Compare, goes_on_where_one_was_killed_as_it_began) {
  const Place place;
  fs::create_directory(place.path() / "all");
  place.write("all/comparison.json.partial", "{");
  expect_end(0, place.eave(grid("--ranks 2 --seeds 1 --transport threads")));
}

TEST(Compare, gives_options_of_several_ranks_to_its_run_of_one_rank_in_silence) {
  const Place place;
  const Ended ended =
      place.eave(grid("--ranks 1,2 --seeds 1 --transport threads --replica-hash-every 5 "
                      "--evaluate-workers off --stop-after-bytes 1GB"));
  EXPECT_FALSE(expect_end(0, ended).says("no effect")) << ended.errors;
}

TEST(Compare, of_a_dry_run_tells_each_group_and_writes_nothing) {
  const Place place;
  expect_output(0, place.eave(grid("--ranks 2 --seeds 2 --dry-run --transport threads")),
                {"easgd tau=2, 2 ranks, batch 8", "6 runs, about"});
  EXPECT_FALSE(fs::exists(place.path() / "all"));
}

TEST(Compare, of_a_dry_run_counts_the_samples_of_short_steps) {
  const std::string words =
      "compare --communicators allreduce --ranks 2 --seeds 1 --batch 250 --budget samples=50000 --transport threads "
      "--data synthetic --synthetic-samples 501 --synthetic-test-samples 20 --synthetic-size 8 --model \"flatten; "
      "dense classes\" --dry-run";
  expect_output(0, Place().eave(words), {"allreduce, 2 ranks, batch 250     1        199 "});
}

TEST(Compare, of_which_every_run_diverges_ends_as_diverged) {
  const Place place;
  const Ended ended =
      expect_end(76,
                 place.eave(grid("--ranks 2 --seeds 1 --epochs 10 --evaluate-every 2 --transport threads --lr 100000 "
                                 "--model \"flatten; dense 16; dense classes\"")),
                 {"every run diverged"});
  expect_parts(ended.output, {"No run finished", "report.html"});
  EXPECT_TRUE(fs::exists(place.path() / "all" / "report.html"));
}

}  // namespace
}  // namespace eave
