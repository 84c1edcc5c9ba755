// Tests that a run reports what matters to a person who compares it with another run.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "test/program/expectations.h"

namespace eave {
namespace {

using Json = nlohmann::json;

std::map<int, Json> last_step_of_ranks(const Place& place) {
  std::map<int, Json> last;
  for (const Json& step : records_of(place, "step")) last[step.at("rank").get<int>()] = step;
  return last;
}

// Elastic workers meet only at evaluations, and the fast worker's wait there is part of its training time. A
// checkpoint, which rank 0 writes while the other rank trains, is not. So this run writes none.
TEST(Waiting, of_a_fast_worker_at_evaluations_is_counted) {
  const Place place;
  expect_end(
      0, place.eave(quick("--communicator easgd --tau 50 --epochs 40 --evaluate-every 1 --transport threads --ranks 2 "
                          "--slow-rank 1:20x --checkpoint off --run-dir run")));
  std::map<int, Json> last = last_step_of_ranks(place);
  const double fast = last.at(0).at("seconds"), slow = last.at(1).at("seconds");
  // Both ranks begin each evaluation together. So their training times differ only by the skew of the last evaluation.
  EXPECT_NEAR(fast / slow, 1, 0.1) << fast << " s and " << slow << " s";
  const Json summary = json_in(place, "run/summary.json");
  EXPECT_GT(summary.at("waiting_share").get<double>(),
            0.25);  // the fast rank waits 19/20 of its time, the slow rank hardly
}

TEST(Stragglers, are_named_at_the_end_of_a_run_and_in_its_summary) {
  const Place place;
  for (const std::string method : {"allreduce", "local-sgd --tau 5", "easgd --tau 5", "easgd-async --tau 5"}) {
    expect_output(
        0,
        place.eave(quick(
            "--epochs 30 --transport threads --ranks 2 --slow-rank 1:50x --overwrite --run-dir run --communicator " +
            method)),
        {"ranks waited longest for rank 1 ("});
    const Json times = json_in(place, "run/summary.json").at("times_of_ranks");
    ASSERT_EQ(times.size(), 2u);
    const double for_slow = times[1].at("seconds_waited_for"), waited = times[0].at("waiting_for_ranks");
    EXPECT_NEAR(for_slow, waited, 1e-9) << "of two ranks, one waits for the other";
    EXPECT_GT(for_slow, 10 * times[0].at("seconds_waited_for").get<double>()) << method;
    EXPECT_GT(times[0].at("waiting").get<double>(), 3 * times[0].at("computing").get<double>()) << method;
  }
  EXPECT_EQ(place.eave(quick("")).output.find("waited"), std::string::npos) << "one rank waits for nobody";
}

TEST(SlowRank, is_named_on_standard_error_within_50_steps) {
  const Place place;
  const std::string words =
      "train --data synthetic --synthetic-samples 500 --synthetic-test-samples 20 --model lenet --batch 8 "
      "--epochs 100 --max-steps 50 --evaluate-every 0 --progress off ";
  for (const Launch& launch : {Launch{}, Launch{2}}) {
    if (launch.mpirun_ranks > 0 && !has_mpirun()) continue;
    const std::string ranks = launch.mpirun_ranks > 0 ? "" : "--transport threads --ranks 2 ";
    for (const std::string method : {"allreduce", "easgd --tau 5"}) {
      Ended slow;
      for (int run = 0; run < 5 && !slow.says("is slow"); ++run) {  // a busy machine may delay any rank
        slow = place.eave(words + ranks + "--slow-rank 1:4x --communicator " + method, launch);
        ASSERT_EQ(slow.code, 0) << slow.errors;
      }
      expect_parts(slow.errors, {"eave: warning: rank 1 on ", " is slow: it computes "});
    }
  }
  EXPECT_FALSE(place.eave(words + "--transport threads --ranks 2").says("is slow"));
}

TEST(Exchange, that_never_happens_is_warned_about) {
  const Place place;
  EXPECT_TRUE(place.eave(quick("--communicator easgd --tau 10 --max-steps 10")).says("no exchange will take place"));
  EXPECT_FALSE(place.eave(quick("--communicator easgd --tau 10 --max-steps 11")).says("no exchange"));
  EXPECT_FALSE(
      place.eave(quick("--communicator easgd --tau 10 --max-steps 10 --order after-step")).says("no exchange"));
}

TEST(WarmUp, that_the_run_does_not_outlast_is_warned_about) {
  const Place place;
  const Ended warned = expect_end(0, place.eave(quick("--warmup-epochs 10 --warmup-from 0 --max-steps 5")),
                                  {"--warmup-epochs 10: the run of 5 steps ends during the warm-up, at the learning "
                                   "rate ",
                                   ", and never reaches 0.05; give a shorter warm-up, or train longer"});
  EXPECT_EQ(warned.errors.find("warm-up, at"), warned.errors.rfind("warm-up, at"));
  EXPECT_TRUE(place.eave(quick("--warmup 5steps --warmup-from 0 --max-steps 5")).says("--warmup 5steps: the run of 5"));
  EXPECT_FALSE(expect_end(0, place.eave(quick("--warmup 4steps --warmup-from 0 --max-steps 5"))).says("warm-up"));
}

TEST(MovingAverage, that_is_mostly_the_first_model_is_warned_about) {
  const Place place;
  const std::string what = " % the consensus after the first step, after 10 steps with --ema-decay ";
  const auto warned = [&](const std::string& words, const std::string& text) {
    return expect_end(0, place.eave(quick("--epochs 2 --max-steps 10 " + words))).says(text);
  };
  EXPECT_TRUE(warned("--ema-decay 0.9 --ema-every 1000", "100" + what + "0.9 and --ema-every 1000"));
  EXPECT_TRUE(warned("--ema-decay 0.999 --ema-every 1", "99" + what + "0.999"));
  EXPECT_TRUE(warned("--ema-decay 0.999", "99" + what + "0.999"));
  EXPECT_FALSE(warned("--ema-decay 0.7", "after the first step")) << "0.7^9 is 4 %";
}

TEST(Muon, without_hidden_matrices_is_warned_about) {
  const Place place;
  const std::string warning = "--optimizer muon: the model has no hidden matrices";
  const std::string words = "--max-steps 2 --lr 0.001 --model 'flatten; dense classes' --run-dir run --overwrite ";
  const Ended muon = expect_end(0, place.eave(quick(words + "--optimizer muon --transport threads --ranks 2")));
  EXPECT_EQ(count_of(muon.errors, warning), 1) << muon.errors;
  const std::string model = place.read("run/model.safetensors");
  expect_end(0, place.eave(quick(words + "--optimizer adamw --transport threads --ranks 2")));
  EXPECT_EQ(place.read("run/model.safetensors"), model);
  EXPECT_FALSE(place.eave(quick("--max-steps 2 --lr 0.001 --optimizer muon")).says(warning));
}

TEST(Drop, that_never_comes_is_warned_about) {
  const Place place;
  const std::string words = "--lr-schedule step --lr-step-epochs ", warning = "the run ends before the learning rate";
  EXPECT_TRUE(place.eave(quick(words + "100 --max-steps 2")).says("--lr-step-epochs 100: " + warning));
  EXPECT_FALSE(expect_end(0, place.eave(quick(words + "1,100 --epochs 2"))).says(warning));
}

TEST(InjectedFault, before_the_first_step_of_a_resumed_run_is_warned_about) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run --max-steps 6")));
  const std::string resume = "--run-dir run --resume auto --max-steps ", warning = "the run goes on after step ";
  EXPECT_TRUE(expect_end(0, place.eave(quick(resume + "8 --inject-fault 0:6:nan-loss")))
                  .says("--inject-fault 0:6:nan-loss: " + warning + "6, so the fault does not happen in it"));
  const Ended comes = expect_end(0, place.eave(quick(resume + "10 --inject-fault 0:9:nan-loss")));
  EXPECT_FALSE(comes.says(warning));
  EXPECT_TRUE(comes.says("the loss of step 9 is not finite"));
}

// Three workers make 6 exchanges each, 18 in all. Staleness counts from a worker's previous exchange, so the first
// exchange of each worker has none: 15 remain.
TEST(Staleness, of_an_asynchronous_run_is_in_its_summary_and_metrics) {
  const Place place;
  const std::string words =
      "--communicator easgd-async --tau 2 --max-steps 12 --epochs 9 --transport threads --ranks 3 ";
  for (const std::string order : {"round-robin", "free"}) {
    expect_end(0, place.eave(quick(words + "--async-order " + order + " --overwrite --run-dir run")));
    const Json summary = json_in(place, "run/summary.json");
    EXPECT_EQ(summary.at("exchanges"), 6) << order;
    const auto counts = summary.at("staleness").get<std::vector<std::int64_t>>();
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 15) << order;
    if (order == "round-robin") {
      EXPECT_EQ(counts, (std::vector<std::int64_t>{0, 0, 15}));
    }
    const Json last = records_of(place).back();
    EXPECT_EQ(last.at("type"), "end");
    EXPECT_EQ(last.at("exchanges"), summary.at("exchanges"));
    EXPECT_EQ(last.at("staleness"), summary.at("staleness"));
  }
  expect_end(0, place.eave(quick("--communicator easgd --run-dir synchronous")));
  const Json synchronous = json_in(place, "synchronous/summary.json");
  EXPECT_EQ(synchronous.at("exchanges"), 0);
  EXPECT_EQ(synchronous.at("staleness"), Json::array());
  expect_end(0, place.eave("summary run synchronous --json rows.json"));
  EXPECT_EQ(json_in(place, "rows.json").at(0).at("exchanges"), 6);
}

TEST(Overwriting, removes_only_what_a_run_left) {
  const Place place;
  std::filesystem::create_directories(place.path() / "mine/checkpoint");
  place.write("mine/config.json", "kept");
  place.write("mine/checkpoint/notes.txt", "kept");
  expect_end(73, place.eave(quick("--run-dir mine --overwrite")), {"no run that --overwrite could replace"});
  EXPECT_EQ(place.read("mine/config.json"), "kept");
  expect_end(0, place.eave(quick("--run-dir run")));
  place.write("run/checkpoint/notes.txt", "kept");
  expect_end(0, place.eave(quick("--run-dir run --overwrite --max-steps 2")));
  EXPECT_EQ(place.read("run/checkpoint/notes.txt"), "kept");
}

TEST(Resuming, with_a_setting_that_changes_the_method_is_refused) {
  const Place place;
  expect_end(0, place.eave(quick("--communicator easgd --tau 3 --run-dir run")));
  for (const char* changed : {"--tau 4", "--tau 3 --order after-step", "--tau 3 --sampling whole", "--tau 3 --lr 0.01",
                              "--tau 3 --beta 0.5", "--tau 3 --nesterov"}) {
    expect_end(78, place.eave(quick("--communicator easgd --epochs 2 --resume --run-dir run " + std::string(changed))),
               {"settings in config.json"});
  }
  expect_end(0, place.eave(quick("--communicator easgd --tau 3 --epochs 2 --resume --run-dir run --log-every 2")));
}

TEST(Resuming, with_a_setting_that_adds_a_vector_names_the_option) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run --transport threads --ranks 2")));
  for (const auto& [added, says] : {std::pair("--ema-decay 0.9", "started with --ema-decay 0, now it is 0.9"),
                                    {"--compression bf16", "started with --compression none, now it is bf16"},
                                    {"--momentum 0", "started with --momentum 0.9, now it is 0"}}) {
    expect_end(
        78,
        place.eave(quick("--run-dir run --transport threads --ranks 2 --epochs 2 --resume on " + std::string(added))),
        {says});
  }
}

TEST(Options, without_effect_in_this_combination_are_refused_or_warned_about) {
  const Place place;
  expect_end(64, place.eave(quick("--lr-scaling linear --batch-means total")),
             {"has no effect with --batch-means total"});
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--batch-norm-statistics local", "it has no batch norm"},
      {"--recompute-batches 3", "it has no batch norm"},
      {"--model 'batch_norm; flatten; dense classes' --recompute-batches 3",
       "has no effect with --batch-norm-statistics average"},
      {"--communicator easgd --on-drop reset-to-center", "the learning rate never drops by a step"},
      {"--communicator easgd --on-drop reset-to-center --lr-schedule cosine",
       "the learning rate never drops by a step"},
      {"--on-drop reset-to-center --lr-schedule step --lr-step-epochs 1", "These methods can: local-sgd"}};
  for (const auto& [words, message] : cases) {
    expect_end(64, place.eave(quick(words)), {message});
  }
  EXPECT_TRUE(place
                  .eave(quick("--communicator easgd --on-drop reset-to-center --lr-schedule step --lr-step-epochs 1 "
                              "--max-steps 3"))
                  .says("the run ends before the learning rate drops"));
  place.write("a.ini", "config = b.ini\n");
  expect_end(64, place.eave(quick("--config a.ini")));
  EXPECT_TRUE(place.eave(quick("--max-steps 2 --shape-rate 1gbit")).says("one rank exchanges nothing"));
}

// One command line may serve several numbers of ranks, so this is no error.
TEST(Options, of_other_ranks_are_warned_about_on_one_rank) {
  const Place place;
  const std::string warning = ": no effect in a run of one rank", words = "--max-steps 2 --epochs 2 ";
  for (const std::string named : {"--replica-hash-every 10, --on-replica-fault repair", "--bucket-bytes 8KiB",
                                  "--stop-after-bytes 1GB", "--evaluate-workers off"}) {
    std::string given = named;
    std::erase(given, ',');
    EXPECT_TRUE(expect_end(0, place.eave(quick(words + given))).says(named + warning)) << named;
    const std::string on_two = words + "--transport threads --ranks 2 " + given;
    EXPECT_FALSE(expect_end(0, place.eave(quick(on_two))).says(warning)) << named;
  }
  EXPECT_TRUE(place.eave(quick(words + "--communicator none --average-at-end")).says("--average-at-end on" + warning));
  for (const std::string given : {"--replica-hash-every 0", "--communicator easgd --evaluate-workers off"})
    EXPECT_FALSE(expect_end(0, place.eave(quick(words + given))).says(warning)) << given;
}

TEST(Options, of_exchanges_are_refused_or_warned_about_when_every_rank_trains_alone) {
  const Place place;
  const std::string alone = "--max-steps 2 --communicator none --transport threads --ranks 2 ";
  EXPECT_TRUE(expect_end(0, place.eave(quick(alone + "--shape-delay 1ms"))).says("slow no step down"));
  expect_end(64, place.eave(quick(alone + "--stop-after-bytes 1GB")),
             {"--stop-after-bytes 1GB", "--communicator none sends nothing"});
}

}  // namespace
}  // namespace eave
