// Runs the program with methods whose ranks exchange with a center, each at its own pace.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "test/program/program.h"

namespace eave {
namespace {

using Json = nlohmann::json;

std::string free_run(const std::string& more) {
  return quick("--communicator easgd-async --tau 2 --shard-bytes 64 --transport threads " + more);
}

TEST(AsynchronousRun, is_repeated_bit_for_bit_by_its_order_of_exchanges) {
  const Place place;
  const std::string drops = "--ranks 3 --lr-schedule step --lr-step-epochs 0.5 --on-drop reset-to-center ";
  for (const std::string& ranks :
       {std::string("--ranks 3 "), std::string("--ranks 3 --center-ranks 1 "), drops, drops + "--center-ranks 1 "}) {
    ASSERT_EQ(place.eave(free_run(ranks + "--run-dir free --overwrite")).code, 0);
    const Ended replayed = place.eave(free_run(ranks + "--replay free/exchanges.order --run-dir again --overwrite"));
    ASSERT_EQ(replayed.code, 0) << replayed.errors;
    EXPECT_EQ(place.read("again/model.safetensors"), place.read("free/model.safetensors")) << ranks;
    EXPECT_EQ(place.read("again/exchanges.order"), place.read("free/exchanges.order")) << ranks;
  }
}

TEST(AsynchronousRun, refuses_the_order_of_another) {
  const Place place;
  ASSERT_EQ(place.eave(free_run("--ranks 2 --run-dir free")).code, 0);
  for (const auto& [words, message] : std::vector<std::pair<std::string, std::string>>{
           {"--ranks 3", "with 2 workers"}, {"--ranks 2 --seed 5", "--seed"}, {"--ranks 2 --batch 9", "--batch"}}) {
    const Ended ended = place.eave(free_run(words + " --replay free/exchanges.order"));
    EXPECT_EQ(ended.code, 64) << words;
    EXPECT_TRUE(ended.says(message)) << ended.errors;
    EXPECT_EQ(ended.messages().size(), 1u) << ended.errors;
  }
}

TEST(AsynchronousRun, has_neither_samples_nor_steps_nor_a_worker_on_ranks_that_keep_the_center) {
  const Place place;
  const Ended ended = place.eave(free_run("--ranks 3 --center-ranks 1 --run-dir run"));
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.output.find("keeps the center, does not train"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("p = 2 workers"), std::string::npos) << ended.output;
  const Json summary = Json::parse(place.read("run/summary.json"));
  EXPECT_EQ(summary.at("ranks"), 3);
  EXPECT_EQ(summary.at("workers"), 2);
  std::set<int> ranks;
  std::istringstream lines(place.read("run/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json object = Json::parse(line);
    if (object.at("type") == "step") ranks.insert(object.at("rank").get<int>());
    if (object.at("type") != "header") continue;
    EXPECT_FALSE(object.at("ranks").at(2).at("trains").get<bool>());
    for (const Json& count : object.at("ranks").at(2).at("class_histogram")) EXPECT_EQ(count, 0);
  }
  EXPECT_EQ(ranks, (std::set<int>{0, 1}));
}

TEST(AsynchronousRun, with_ranks_that_keep_the_center_goes_on_where_it_ended) {
  const Place place;
  const std::string words = "--ranks 3 --center-ranks 1 --async-order round-robin ";
  ASSERT_EQ(place.eave(free_run(words + "--epochs 2 --run-dir whole")).code, 0);
  ASSERT_EQ(place.eave(free_run(words + "--epochs 1 --run-dir run")).code, 0);
  const Ended resumed = place.eave(free_run(words + "--epochs 2 --run-dir run --resume"));
  ASSERT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_EQ(place.read("run/model.safetensors"), place.read("whole/model.safetensors"));
}

TEST(AsynchronousRun, that_goes_on_leaves_no_order_of_its_first_part) {
  const Place place;
  ASSERT_EQ(place.eave(free_run("--ranks 2 --epochs 1 --run-dir run")).code, 0);
  EXPECT_TRUE(std::filesystem::exists(place.path() / "run/exchanges.order"));
  const Ended replayed =
      place.eave(free_run("--ranks 2 --epochs 2 --run-dir run --resume --replay run/exchanges.order"));
  EXPECT_EQ(replayed.code, 64);
  EXPECT_TRUE(replayed.says("goes on in free order")) << replayed.errors;
  ASSERT_EQ(place.eave(free_run("--ranks 2 --epochs 2 --run-dir run --resume")).code, 0);
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run/exchanges.order"));
}

// Only the order of a whole run can be replayed, so a run that stops early writes none.
TEST(AsynchronousRun, that_stops_at_an_accuracy_leaves_no_order) {
  const Place place;
  const std::string words = "--ranks 2 --epochs 9 --evaluate-every 1 --run-dir run --overwrite ";
  ASSERT_EQ(place.eave(free_run(words)).code, 0);
  ASSERT_TRUE(std::filesystem::exists(place.path() / "run/exchanges.order"));
  const Ended ended = place.eave(free_run(words + "--stop-at-accuracy 1e-9"));
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_LT(Json::parse(place.read("run/summary.json")).at("steps"), 9 * 7) << "it made all its steps";
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run/exchanges.order"));
}

TEST(AsynchronousRun, whose_replay_ended_goes_on_in_free_order) {
  const Place place;
  ASSERT_EQ(place.eave(free_run("--ranks 2 --epochs 1 --run-dir free")).code, 0);
  ASSERT_EQ(place.eave(free_run("--ranks 2 --epochs 1 --run-dir again --replay free")).code, 0);
  const Ended resumed = place.eave(free_run("--ranks 2 --epochs 2 --run-dir again --resume"));
  EXPECT_EQ(resumed.code, 0) << resumed.errors;
}

TEST(ElasticCard, says_what_nesterov_makes_of_the_method) {
  const Place place;
  for (const std::string communicator : {"easgd", "easgd-async"}) {
    const std::string words = "train" + std::string(kQuick) + "--communicator " + communicator;
    EXPECT_EQ(place.eave(words).output.find("EAMSGD"), std::string::npos) << communicator;
    EXPECT_NE(place.eave(words + " --nesterov").output.find("EAMSGD: x_i is the iterate"), std::string::npos)
        << communicator;
  }
}

TEST(AsynchronousRun, is_refused_where_nobody_would_train) {
  const Place place;
  for (const int ranks : {1, 3}) {
    const Ended ended =
        place.eave(free_run("--ranks " + std::to_string(ranks) + " --center-ranks " + std::to_string(ranks)));
    EXPECT_EQ(ended.code, 64);
    EXPECT_TRUE(ended.says("leaves no rank to train")) << ended.errors;
    EXPECT_EQ(ended.messages().size(), 1u) << ended.errors;
  }
}

}  // namespace
}  // namespace eave
