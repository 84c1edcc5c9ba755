// Tests `eave compare`: from a grid of runs to the files that they leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <vector>

#include "test/program/expectations.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Options that make each run small and quick.
const std::string kOfEachRun =
    "--data synthetic --synthetic-samples 97 --synthetic-test-samples 23 --synthetic-size 8 --epochs 1 "
    "--model \"conv2d 4 3x3 pad 1; relu; max_pool 2; flatten; dense 16; relu; dense classes\" ";

std::string grid(const std::string& more) {
  return "compare --communicators easgd:tau=2 --output all --batch 8 " + kOfEachRun + more;
}

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

void remove_from_header(const Place& place, const std::string& run, const std::string& field) {
  const std::string metrics = place.read(run + "/metrics.jsonl");
  const std::size_t end = metrics.find('\n');
  nlohmann::json header = nlohmann::json::parse(metrics.substr(0, end));
  header.erase(field);
  place.write(run + "/metrics.jsonl", header.dump() + metrics.substr(end));
}

TEST(Compare, refuses_to_keep_runs_that_began_from_other_data) {
  const Place place;
  place.write("a.txt", "abcdefgh abcdefgh abcdefgh " + std::string(2000, 'x'));
  place.write("b.txt", "abcdefgh abcdefgh abcdefgi " + std::string(2000, 'x'));
  const std::string words =
      "compare --data text --vocabulary bytes --context 16 --batch 8 --optimizer adamw --lr 0.01 --seeds 1 --budget "
      "epochs=1 --output all --transport threads --model 'embedding 8 positions 16; layer_norm; linear 256' ";
  expect_end(0, place.eave(words + "--communicators easgd:tau=2 --data-dir a.txt"));
  const std::string more = words + "--communicators easgd:tau=2,local-sgd:tau=2 --data-dir ";
  expect_end(78, place.eave(more + "b.txt"), {"all/", "other data: the text", "another directory"});
  place.write("c.txt", place.read("a.txt"));
  expect_output(0, place.eave(more + "c.txt"), {"3 of 4 runs were done before"});
  place.write("c.txt", place.read("b.txt"));
  expect_end(78, place.eave(more + "c.txt"), {"other data"});
  for (const auto& run : fs::directory_iterator(place.path() / "all"))
    if (run.is_directory()) remove_from_header(place, "all/" + run.path().filename().string(), "data_identity");
  expect_output(0, place.eave(more + "c.txt"), {"4 of 4 runs were done before"});
}

TEST(Compare, refuses_to_keep_runs_that_began_from_other_parameters) {
  const Place place;
  for (const std::string seed : {"1", "2"})
    expect_end(0, place.eave(quick("--max-steps 1 --progress off --run-dir run" + seed + " --seed " + seed)));
  place.write("start", place.read("run1/model.safetensors"));
  const std::string words = "compare --communicators easgd:tau=2 --seeds 1 --output all --transport threads " +
                            std::string(kQuick) + " --initial-parameters start";
  expect_end(0, place.eave(words));
  expect_output(0, place.eave(words), {"3 of 3 runs were done before"});
  place.write("start", place.read("run2/model.safetensors"));
  expect_end(78, place.eave(words), {"other parameters: the content of --initial-parameters start has changed"});
}

// The crop is larger than the images, which only the first run finds.
TEST(Compare, that_was_refused_before_its_first_run_does_not_bind_the_next) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 1 --transport threads ");
  expect_end(78, place.eave(words + "--crop 12"), {"does not fit into images"});
  expect_end(0, place.eave(words));
  expect_end(78, place.eave(words + "--crop 6"), {"--crop"});
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

TEST(Compare, refuses_options_of_train_that_it_would_ignore) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 1 --transport threads ");
  for (const std::string option :
       {"communicator = easgd", "seed = 3", "run-dir = mine", "overwrite = on", "resume = auto", "print-config = on",
        "checkpoint = on", "allow-changed-plugin = on"}) {
    const std::string name = option.substr(0, option.find(' '));
    place.write("train.ini", option + "\n");
    expect_end(64, place.eave(words + "--config train.ini"), {"--" + name, "(file train.ini)"});
    EXPECT_FALSE(fs::exists(place.path() / "all")) << option;
  }
  expect_end(64, place.eave(words, {0, "EAVE_SEED=3"}), {"--seed 3 (environment EAVE_SEED)"});
  for (const std::string more :
       {"--print-config", "--checkpoint on", "--keep 2", "--limit-checkpoint 1m", "--require-checkpoint off"})
    expect_end(64, place.eave(words + more), {more.substr(0, more.find(' '))});
  expect_end(64, place.eave(words + "--meet here:1"), {"--meet"});
  place.write("train.ini", "max-samples = 9\n");
  const std::string budget = "compare --communicators easgd --batch 8 --ranks 2 --transport threads --data synthetic ";
  for (const std::string more : {"samples=100", "epochs=1"})
    expect_end(64, place.eave(budget + "--config train.ini --budget " + more),
               {"--budget " + more + " contradicts --max-samples (file train.ini)"});
  expect_end(64, place.eave(budget + "--budget samples=100", {0, "EAVE_EPOCHS=2"}), {"contradicts --epochs"});
}

TEST(Compare, refuses_a_directory_of_others) {
  const Place place;
  fs::create_directory(place.path() / "all");
  place.write("all/report.html", "somebody's");
  expect_end(73, place.eave(grid("--ranks 2 --seeds 1 --transport threads")));
  EXPECT_EQ(place.read("all/report.html"), "somebody's");
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

TEST(Compare, of_a_dry_run_refuses_what_the_runs_refuse_and_nothing_else) {
  const Place place;
  const std::string words = grid("--ranks 2 --seeds 1 --transport threads ");
  for (const std::string more :
       {"--stop-at-accuracy 0.1", "--checkpoint off", "--trace", "--tensorboard", "--evaluations 3",
        "--evaluations 3 --evaluate-workers off", "--evaluate-every 0.5 --stop-at-loss 0.1"}) {
    expect_end(0, place.eave(words + more + " --dry-run"));
    EXPECT_FALSE(fs::exists(place.path() / "all")) << more;
    expect_end(0, place.eave(words + more));
    fs::remove_all(place.path() / "all");
  }
  for (const auto& [more, code] : {std::pair("--notes nosuch", 66), std::pair("--stop-at-loss 1 --evaluations 1", 64),
                                   std::pair("--keep 2", 64)}) {
    expect_end(code, place.eave(words + more + " --dry-run"));
    expect_end(code, place.eave(words + more));
    fs::remove_all(place.path() / "all");
  }
}

// The method comes last, after the runs of one rank and of allreduce.
TEST(Compare, refuses_values_that_a_method_does_not_take_before_the_first_run) {
  const Place place;
  for (const std::string method : {"easgd:tau=0", "easgd:alpha=0", "easgd:beta=-1", "easgd-tree:groups=7",
                                   "slowmo:slowmo-momentum=1.5", "bmuf:block-momentum=2", "diloco:outer-rate=0",
                                   "easgd-async:pull-delay=20", "gossip:alpha=2", "mvasgd:average-rate=3"}) {
    const std::string words = grid("--ranks 2 --seeds 1 --transport threads --communicators " + method);
    const std::string option = method.substr(method.find(':') + 1, method.find('=') - method.find(':') - 1);
    for (const std::string more : {"", " --dry-run"}) {
      const Ended ended = expect_end(64, place.eave(words + more), {option});
      EXPECT_EQ(ended.output, "") << method;
      EXPECT_FALSE(fs::exists(place.path() / "all")) << method;
    }
  }
}

TEST(Compare, refuses_options_that_do_not_go_with_a_method_before_the_first_run) {
  const Place place;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--communicators easgd-async --ema-decay 0.9", "--ema-decay 0.9 (command line): the ranks of"},
      {"--communicators easgd:batch-means=total --batch 7", "--batch 7 --batch-means total cannot be divided"},
      {"--communicators gossip --replica-hash-every 5", "--replica-hash-every 5 (command line): has no effect"},
      {"--communicators easgd:momentum=2", "--momentum 2"},
      {"--communicators easgd:on-nonfinite=rollback", "--on-nonfinite rollback"},
      {"--communicators easgd:clip-norm=-1", "--clip-norm -1"},
      {"--communicators easgd:accumulate=9", "--accumulate 9"},
      {"--limit-step 0.5s", "--limit-step 0.5s"},
      {"--communicators easgd:limit-setup=0.5s", "--limit-setup 0.5s"},
      {"--communicators none --stop-after-bytes 1GB", "none sends nothing"},
      {"--communicators allreduce:lr-scaling=linear:batch-means=total", "has no effect with --batch-means total"},
      {"--communicators allreduce:on-drop=reset-to-center", "--on-drop reset-to-center has no effect"},
      {"--communicators allreduce:reproducible=on:micro-batches=4:accumulate=2", "--accumulate 2"}};
  for (const auto& [more, says] : cases) {
    const Ended ended = expect_end(64, place.eave(grid("--ranks 2 --seeds 1 --transport threads ") + more), {says});
    EXPECT_EQ(ended.output, "") << more;
    EXPECT_FALSE(fs::exists(place.path() / "all")) << more;
  }
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

TEST(Compare, refuses_wrong_options_before_the_first_run) {
  const Place place;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--tau 10 --transport threads", "--communicators easgd:tau=10"},
      {"--ranks 8", "mpirun -np 8"},
      {"--lr 0.05,1e9 --transport threads", "--lr"},
      {"--communicators easgd-async:center-ranks=2 --ranks 2 --transport threads", "center-ranks"},
      {"--modle lenet --transport threads", "did you mean --model"},
      {"--communicators easgt --transport threads", "easgt"},
      {"--communicators easgd:tau=10,easgd --transport threads", "names easgd twice with the same settings"},
      {"--lr-scaling linear --transport threads", "behind its name: --communicators"},
      {"--ranks 2 --slow-rank 1:2 --transport threads", "--slow-rank 1:2: expected RANK:FACTORx"},
      {"--ranks 2 --slow-rank 5:2x --transport threads", "with a rank below 2"}};
  for (const auto& [words, text] : cases) {
    expect_end(64, place.eave(grid(words)), {text});
    EXPECT_FALSE(fs::exists(place.path() / "all"));
  }
}

}  // namespace
}  // namespace eave
