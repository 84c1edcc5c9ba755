// Runs the program with methods whose ranks exchange with a center, each at its own pace.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "test/program/expectations.h"

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
    expect_end(0, place.eave(free_run(ranks + "--run-dir free --overwrite")));
    expect_end(0, place.eave(free_run(ranks + "--replay free/exchanges.order --run-dir again --overwrite")));
    EXPECT_EQ(place.read("again/model.safetensors"), place.read("free/model.safetensors")) << ranks;
    EXPECT_EQ(place.read("again/exchanges.order"), place.read("free/exchanges.order")) << ranks;
  }
}

// In this order, at no moment have both workers done exactly the exchanges of 6 steps. For 8 and 16 steps they have.
TEST(AsynchronousRun, that_is_replayed_meets_only_where_its_order_allows_that) {
  const Place place;
  std::filesystem::copy(EAVE_SOURCE "/test/program/old_run/exchanges.order", place.path());
  const std::string words =
      "train --transport threads --ranks 2 --data synthetic --synthetic-samples 256 --synthetic-test-samples 32 "
      "--synthetic-size 8 --batch 4 --model 'global_pool; dense classes' --progress off --epochs 1 --communicator "
      "easgd-async --tau 2 --run-dir run --overwrite --replay exchanges.order ";
  for (const char* more : {"--evaluate-every 0.5", "--evaluate-every 0.25", "--checkpoint-every 1ms"})
    expect_end(0, place.eave(words + more));
  for (const char* more : {"--evaluate-every 0.1875", "--checkpoint-every 6"})
    expect_end(64, place.eave(words + more), {"cannot wait for each other after step 6 of this replay"});
}

TEST(AsynchronousRun, refuses_the_order_of_another) {
  const Place place;
  expect_end(0, place.eave(free_run("--ranks 2 --run-dir free")));
  for (const auto& [words, message] : std::vector<std::pair<std::string, std::string>>{
           {"--ranks 3", "with 2 workers"}, {"--ranks 2 --seed 5", "--seed"}, {"--ranks 2 --batch 9", "--batch"}}) {
    expect_end(64, place.eave(free_run(words + " --replay free/exchanges.order")), {message});
  }
}

TEST(AsynchronousRun, has_neither_samples_nor_steps_nor_a_worker_on_ranks_that_keep_the_center) {
  const Place place;
  expect_output(0, place.eave(free_run("--ranks 3 --center-ranks 1 --run-dir run")),
                {"keeps the center, does not train", "p = 2 workers"});
  const Json summary = json_in(place, "run/summary.json");
  EXPECT_EQ(summary.at("ranks"), 3);
  EXPECT_EQ(summary.at("workers"), 2);
  std::set<int> ranks;
  for (const Json& step : records_of(place, "step")) ranks.insert(step.at("rank").get<int>());
  const Json last = records_of(place, "header").at(0).at("ranks").at(2);
  EXPECT_FALSE(last.at("trains").get<bool>());
  for (const Json& count : last.at("class_histogram")) EXPECT_EQ(count, 0);
  EXPECT_EQ(ranks, (std::set<int>{0, 1}));
}

// The values of a model file, which follow its header. The header tells the number of ranks, too.
std::string values_of_model(const Place& place, const std::string& run) {
  const std::string file = place.read(run + "/model.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  return file.substr(sizeof header + header);
}

// With batch norm, the model of all has the average of the workers' statistics.
TEST(AsynchronousRun, in_turns_has_the_same_models_and_losses_with_a_rank_that_keeps_the_center) {
  const Place place;
  const std::string words =
      "--model \"conv2d 4 3x3 no_bias; batch_norm; relu; global_pool; dense classes\" --async-order round-robin "
      "--batch-norm-statistics average ";
  expect_end(0, place.eave(free_run(words + "--ranks 2 --run-dir without")));
  expect_end(0, place.eave(free_run(words + "--ranks 3 --center-ranks 1 --run-dir with")));
  EXPECT_EQ(values_of_model(place, "with"), values_of_model(place, "without"));
  const Json with = json_in(place, "with/summary.json"), without = json_in(place, "without/summary.json");
  for (const char* which : {"center", "mean_of_workers", "first_worker", "best_worker"})
    EXPECT_EQ(with.at("evaluation").at(which), without.at("evaluation").at(which)) << which;
}

// All ranks wait for each other at each update of the average, also those that keep the center.
TEST(AsynchronousRun, has_a_moving_average_if_it_says_how_often) {
  const Place place;
  const std::string words = "--ranks 3 --center-ranks 1 --ema-decay 0.9 ";
  expect_end(64, place.eave(free_run(words)), {"--ema-decay", "--ema-every"});
  expect_end(0, place.eave(free_run(words + "--ema-every 2 --run-dir free")));
  expect_end(0, place.eave(free_run(words + "--ema-every 2 --replay free/exchanges.order --run-dir again")));
  EXPECT_EQ(place.read("again/ema.safetensors"), place.read("free/ema.safetensors"));
  EXPECT_TRUE(records_of(place, "evaluation", "free").back().contains("ema"));
}

TEST(AsynchronousRun, with_ranks_that_keep_the_center_goes_on_where_it_ended) {
  const Place place;
  const std::string words = "--ranks 3 --center-ranks 1 --async-order round-robin ";
  expect_end(0, place.eave(free_run(words + "--epochs 2 --run-dir whole")));
  expect_end(0, place.eave(free_run(words + "--epochs 1 --run-dir run")));
  expect_end(0, place.eave(free_run(words + "--epochs 2 --run-dir run --resume")));
  EXPECT_EQ(place.read("run/model.safetensors"), place.read("whole/model.safetensors"));
}

TEST(AsynchronousRun, that_goes_on_leaves_no_order_of_its_first_part) {
  const Place place;
  expect_end(0, place.eave(free_run("--ranks 2 --epochs 1 --run-dir run")));
  EXPECT_TRUE(std::filesystem::exists(place.path() / "run/exchanges.order"));
  expect_end(64, place.eave(free_run("--ranks 2 --epochs 2 --run-dir run --resume --replay run/exchanges.order")),
             {"to go on in free order"});
  for (const std::string again : {"--resume auto", "--resume elastic"}) {
    expect_end(64, place.eave(free_run("--ranks 2 --epochs 2 --run-dir new --replay run/exchanges.order " + again)),
               {"--replay", "cannot be combined with --resume: a log covers a whole run"});
  }
  expect_end(
      64,
      place.eave(free_run("--ranks 2 --epochs 2 --run-dir new --replay run/exchanges.order --on-nonfinite rollback")),
      {"--on-nonfinite rollback cannot be combined with --replay"});
  expect_end(0, place.eave(free_run("--ranks 2 --epochs 2 --run-dir run --resume")));
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run/exchanges.order"));
}

// Only the order of a whole run can be replayed, so a run that stops early writes none.
TEST(AsynchronousRun, that_stops_at_an_accuracy_leaves_no_order) {
  const Place place;
  const std::string words = "--ranks 2 --epochs 9 --evaluate-every 1 --run-dir run --overwrite ";
  expect_end(0, place.eave(free_run(words)));
  ASSERT_TRUE(std::filesystem::exists(place.path() / "run/exchanges.order"));
  expect_end(0, place.eave(free_run(words + "--stop-at-accuracy 1e-9")));
  EXPECT_LT(json_in(place, "run/summary.json").at("steps"), 9 * 7) << "it made all its steps";
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run/exchanges.order"));
}

TEST(AsynchronousRun, whose_replay_ended_goes_on_in_free_order) {
  const Place place;
  expect_end(0, place.eave(free_run("--ranks 2 --epochs 1 --run-dir free")));
  expect_end(0, place.eave(free_run("--ranks 2 --epochs 1 --run-dir again --replay free")));
  expect_end(0, place.eave(free_run("--ranks 2 --epochs 2 --run-dir again --resume")));
}

TEST(ElasticCard, says_what_nesterov_makes_of_the_method) {
  const Place place;
  for (const std::string communicator : {"easgd", "easgd-async"}) {
    const std::string words = "train" + std::string(kQuick) + "--communicator " + communicator;
    EXPECT_EQ(place.eave(words).output.find("EAMSGD"), std::string::npos) << communicator;
    expect_parts(place.eave(words + " --nesterov").output, {"EAMSGD: x_i is the iterate"});
  }
}

TEST(AsynchronousRun, is_refused_where_nobody_would_train) {
  const Place place;
  for (const int ranks : {1, 3}) {
    expect_end(64,
               place.eave(free_run("--ranks " + std::to_string(ranks) + " --center-ranks " + std::to_string(ranks))),
               {"leaves no rank to train"});
  }
}

}  // namespace
}  // namespace eave
