// Tests the files that a run leaves.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "test/program/expectations.h"

namespace eave {
namespace {

using Json = nlohmann::json;

std::set<std::string> keys(const Json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

struct Metrics {
  explicit Metrics(const Place& place, const std::string& run = "run") {
    for (const Json& line : records_of(place, "", run)) {
      of_type[line.at("type").get<std::string>()].push_back(line);
      order += line.at("type").get<std::string>()[0] + std::string(1, ' ');
    }
  }
  std::map<std::string, std::vector<Json>> of_type;
  std::string order;
};

const std::set<std::string> kScores = {"center", "mean_of_workers", "first_worker", "best_worker"};
const std::set<std::string> kSummary = {"format",
                                        "communicator",
                                        "test_accuracy",
                                        "seconds",
                                        "samples_per_second",
                                        "bytes_per_rank",
                                        "waiting_share",
                                        "checkpoints",
                                        "checkpoint_seconds",
                                        "model",
                                        "data",
                                        "ranks",
                                        "workers",
                                        "steps",
                                        "epochs",
                                        "samples",
                                        "peak_memory_bytes",
                                        "exchanges",
                                        "staleness",
                                        "times_of_ranks",
                                        "evaluation"};

void expect_scores(const Json& evaluation) {
  for (const std::string& which : kScores) {
    EXPECT_GT(evaluation.at(which).at("loss").get<double>(), 0);
    const double accuracy = evaluation.at(which).at("accuracy").get<double>();
    EXPECT_EQ(std::round(accuracy * 23), accuracy * 23) << "of 23 test samples";
  }
  EXPECT_LE(evaluation.at("consensus_distance").at("min"), evaluation.at("consensus_distance").at("max"));
}

// With 97 samples, 2 ranks and batches of 8, an epoch has 7 steps. The last step has one sample.
void expect_every_step_of_every_rank(const Metrics& metrics, std::int64_t bytes_per_rank) {
  const std::set<std::string> fields = {"type",    "rank",          "step",    "samples",   "epoch",
                                        "loss",    "learning_rate", "seconds", "computing", "exchanging",
                                        "waiting", "loading",       "bytes"};
  std::map<int, std::int64_t> bytes, next;
  for (const Json& step : metrics.of_type.at("step")) {
    EXPECT_EQ(keys(step), fields);
    const int rank = step.at("rank");
    const std::int64_t number = step.at("step");
    EXPECT_EQ(number, ++next[rank]);
    EXPECT_EQ(step.at("samples").get<std::int64_t>(),
              (number - 1) / 7 * 97 + std::min<std::int64_t>(((number - 1) % 7 + 1) * 16, 97));
    EXPECT_EQ(step.at("learning_rate").get<double>(), 0.05);
    EXPECT_EQ(step.at("loss").is_null(), rank == 0 && number % 7 == 0) << "rank 0 has no sample in the last step";
    bytes[rank] += step.at("bytes").get<std::int64_t>();
  }
  EXPECT_EQ(next, (std::map<int, std::int64_t>{{0, 21}, {1, 21}}));
  EXPECT_EQ(std::max(bytes[0], bytes[1]), bytes_per_rank);
  EXPECT_GT(bytes_per_rank, 0);
}

void expect_header(const Json& header, const Json& config) {
  EXPECT_EQ(header.at("config"), config);
  EXPECT_EQ(header.at("ranks").size(), 2u);
  std::int64_t samples = 0;
  for (const Json& rank : header.at("ranks")) {
    for (const Json& count : rank.at("class_histogram")) samples += count.get<std::int64_t>();
    EXPECT_FALSE(rank.at("host").get<std::string>().empty());
    EXPECT_EQ(rank.at("device"), "cpu");
  }
  EXPECT_EQ(samples, 97);
  EXPECT_EQ(header.at("train_samples"), 97);
  EXPECT_EQ(header.at("test_samples"), 23);
  expect_parts(header.at("equation").get<std::string>(), {"alpha"});
  EXPECT_FALSE(header.at("optimizer").get<std::string>().empty());
  EXPECT_FALSE(header.at("learning_rate").get<std::string>().empty());
}

TEST(RunDirectory, holds_settings_steps_evaluations_and_summary) {
  const Place place;
  const std::string words = quick("--communicator easgd --tau 2 --epochs 3 --run-dir run");
  expect_end(0, has_mpirun() ? place.eave(words, {2}) : place.eave(words + " --transport threads --ranks 2"));
  Json config = json_in(place, "run/config.json");
  EXPECT_EQ(config.at("format"), 1);
  config.erase("format");
  const Json summary = json_in(place, "run/summary.json");
  EXPECT_EQ(config.at("tau"), "2");
  EXPECT_EQ(config.at("momentum"), "0.9");
  EXPECT_FALSE(config.contains("bucket-bytes")) << "of allreduce";
  const Metrics metrics(place);
  EXPECT_EQ(metrics.order.substr(0, 4), "h s ");
  EXPECT_EQ(metrics.order.substr(metrics.order.size() - 6), "s e e ");  // the last evaluation, and the end
  expect_header(metrics.of_type.at("header").at(0), config);
  expect_every_step_of_every_rank(metrics, summary.at("bytes_per_rank"));
  ASSERT_EQ(metrics.of_type.at("evaluation").size(), 3u);
  for (const Json& evaluation : metrics.of_type.at("evaluation")) expect_scores(evaluation);
  EXPECT_EQ(metrics.of_type.at("evaluation")[1].at("step"), 14);
  Json end = metrics.of_type.at("end").at(0);
  end.erase("type");
  EXPECT_EQ(end, summary);
  EXPECT_EQ(keys(summary), kSummary);
  EXPECT_EQ(summary.at("ranks"), 2);
  EXPECT_EQ(summary.at("steps"), 21);
  EXPECT_EQ(summary.at("samples"), 3 * 97);
  EXPECT_EQ(summary.at("test_accuracy"), summary.at("evaluation").at("center").at("accuracy"));
  expect_scores(summary.at("evaluation"));
}

// Trains, and returns for each evaluation the center's loss, and whether it also scored the workers.
std::pair<std::vector<double>, std::vector<bool>> evaluations_of(const Place& place, const std::string& more) {
  const std::string words =
      quick("--communicator easgd --tau 2 --epochs 3 --transport threads --ranks 2 --run-dir run ");
  expect_end(0, place.eave(words + "--overwrite " + more));
  std::pair<std::vector<double>, std::vector<bool>> found;
  const Metrics metrics(place);
  for (const Json& evaluation : metrics.of_type.at("evaluation")) {
    found.first.push_back(evaluation.at("center").at("loss"));
    found.second.push_back(evaluation.contains("best_worker"));
  }
  expect_scores(json_in(place, "run/summary.json").at("evaluation"));
  return found;
}

TEST(RunDirectory, has_workers_scores_at_the_runs_end_where_they_are_not_wanted_before) {
  const Place place;
  const auto [losses, with_workers] = evaluations_of(place, "");
  EXPECT_EQ(with_workers, std::vector<bool>({true, true, true}));
  const auto [same, at_the_end] = evaluations_of(place, "--evaluate-workers off");
  EXPECT_EQ(at_the_end, std::vector<bool>({false, false, true}));
  EXPECT_EQ(same, losses);
  // The last evaluation scores the workers whatever ends the run.
  for (const std::string stop : {"--stop-at-accuracy 0.001", "--stop-after-bytes 1"}) {
    const std::vector<bool> stopped = evaluations_of(place, "--evaluate-workers off " + stop).second;
    EXPECT_LT(stopped.size(), 3u) << stop;
    EXPECT_TRUE(stopped.back()) << stop;
    EXPECT_EQ(std::ranges::count(stopped, true), 1) << stop;
  }
}

TEST(RunDirectory, is_replaced_by_overwrite_but_for_what_is_not_the_runs) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run")));
  place.write("run/notes.txt", "mine");
  expect_end(0, place.eave(quick("--run-dir run --overwrite --max-steps 2")));
  EXPECT_EQ(place.read("run/notes.txt"), "mine");
  EXPECT_EQ(Metrics(place).of_type.at("header").size(), 1u);
  EXPECT_EQ(Metrics(place).of_type.at("step").size(), 2u);
  // The files of a run that failed are not mixed with files of an earlier run.
  expect_end(76, place.eave(quick("--run-dir run --overwrite --lr 500000")));
  for (const std::string file : {"summary.json", "model.safetensors", "checkpoint/step-000002"}) {
    EXPECT_FALSE(std::filesystem::exists(place.path() / "run" / file)) << file;
  }
}

TEST(RunDirectory, keeps_a_directory_that_stands_where_a_file_belongs) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run --max-steps 2")));
  std::filesystem::create_directory(place.path() / "run" / "trace.json");
  place.write("run/trace.json/mine.txt", "mine");
  expect_end(73, place.eave(quick("--run-dir run --overwrite --max-steps 2")),
             {"trace.json where eave writes a file; move it away"});
  EXPECT_EQ(place.read("run/trace.json/mine.txt"), "mine");
}

TEST(RunDirectory, keeps_its_run_when_another_cannot_start_in_its_place) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run")));
  const std::string metrics = place.read("run/metrics.jsonl"), model = place.read("run/model.safetensors");
  expect_end(78, place.eave(quick("--run-dir run --overwrite --model cifar7")));
  EXPECT_EQ(place.read("run/metrics.jsonl"), metrics);
  EXPECT_EQ(place.read("run/model.safetensors"), model);
}

// The test kills the run when rank 0 has written steps after the first evaluation. A step takes some 10 ms, and an
// evaluation comes every 2 s.
TEST(RunDirectory, of_a_run_that_was_killed_holds_rank_0_up_to_then_and_can_be_resumed) {
  const Place place;
  const std::string words =
      quick("--slow-rank 0:300x --transport threads --ranks 2 --evaluate-every 10 --run-dir run ");
  place.write("kill_in_time", program() + " " + words + R"sh(--epochs 9999 &
    for turn in $(seq 1800); do
      if [ -n "$(ls run/checkpoint 2>/dev/null | grep -v partial)" ] && tail -n 1 run/metrics.jsonl | grep -q '"step","rank":0'; then break; fi
      sleep 0.05
    done
    kill -KILL $!
    wait)sh");
  place.run("sh kill_in_time");
  const Metrics killed(place);
  ASSERT_TRUE(killed.of_type.contains("evaluation") && killed.of_type.contains("step")) << "it was killed too early";
  const std::vector<Json> steps = killed.of_type.at("step");
  const std::int64_t evaluated = killed.of_type.at("evaluation").back().at("step");
  const std::int64_t reached = steps.back().at("step");
  EXPECT_GT(reached, evaluated);
  for (const Json& step : steps) EXPECT_TRUE(step.at("rank") == 0 || step.at("step") <= evaluated);

  const int epochs = static_cast<int>(reached / 7) + 10;
  expect_end(0, place.eave(words + "--resume --epochs " + std::to_string(epochs)));
  const Metrics metrics(place);
  std::map<int, std::int64_t> next;
  for (const Json& step : metrics.of_type.at("step")) EXPECT_EQ(step.at("step"), ++next[step.at("rank")]);
  EXPECT_EQ(next, (std::map<int, std::int64_t>{{0, 7 * epochs}, {1, 7 * epochs}}));
}

TEST(RunDirectory, is_read_by_the_summary_command) {
  const Place place;
  expect_end(0, place.eave(quick("--max-steps 2 --run-dir one")));
  expect_end(0, place.eave(quick("--max-steps 3 --run-dir two --communicator easgd")));
  const Ended table = expect_end(0, place.eave("summary one two --json both.json"));
  const Json rows = json_in(place, "both.json");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], json_in(place, "one/summary.json"));
  EXPECT_EQ(rows[1], json_in(place, "two/summary.json"));
  expect_parts(table.output, {"\nallreduce ", "\neasgd "});
}

TEST(Length, is_that_of_epochs_or_of_max_steps_whichever_ends_first) {
  const Place place;
  const std::vector<std::pair<std::string, int>> lengths = {
      {"--epochs 2", 26}, {"--epochs 0.5", 7}, {"--max-steps 3", 3}, {"--max-steps 99", 13}};  // 13 steps an epoch
  for (const auto& [words, steps] : lengths) {
    expect_end(0, place.eave(quick("--run-dir run --overwrite " + words)));
    EXPECT_EQ(json_in(place, "run/summary.json").at("steps"), steps) << words;
    EXPECT_EQ(Metrics(place).of_type.at("step").size(), static_cast<std::size_t>(steps)) << words;
  }
}

// An epoch has one step, so the class histogram of an epoch is that of a step. With stratified sampling, each rank has
// its share of each class to within two samples.
TEST(Sampling, deals_as_its_name_says) {
  const Place place;
  for (const std::string sampling : {"shard", "stratified", "whole"}) {
    expect_end(
        0,
        place.eave(quick(
            "--synthetic-samples 400 --batch 200 --transport threads --ranks 2 --run-dir run --overwrite --sampling " +
            sampling)));
    const Metrics metrics(place);
    const Json ranks = metrics.of_type.at("header").at(0).at("ranks");
    EXPECT_EQ(metrics.of_type.at("header").at(0).at("config").at("sampling"), sampling);
    std::int64_t furthest = 0, samples = 0;
    for (std::size_t label = 0; label < 10; ++label) {
      const std::int64_t first = ranks[0].at("class_histogram")[label], second = ranks[1].at("class_histogram")[label];
      furthest = std::max(furthest, std::abs(first - second));
      samples += first + second;
    }
    EXPECT_EQ(samples, 400);
    EXPECT_TRUE(sampling != "stratified" || furthest <= 4) << furthest;
    EXPECT_TRUE(sampling != "shard" || furthest > 4) << "by chance alone";
  }
}

}  // namespace
}  // namespace eave
