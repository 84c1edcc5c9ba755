// Tests which runs of the program leave the same model, and what makes runs slower.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "test/communicator/every_communicator.h"
#include "test/program/expectations.h"

namespace eave {
namespace {

using Json = nlohmann::json;

// Trains with augmentation and dropout and returns the model file. With 97 samples on 2 ranks, the last step of an
// epoch has one sample.
std::string model_of(const Place& place, const std::string& words, int mpirun_ranks = 0) {
  expect_end(0, place.eave(quick("--crop 7 --flip --overwrite --run-dir run " + words), {mpirun_ranks}));
  return place.read("run/model.safetensors");
}

class SameRun : public testing::TestWithParam<std::string> {
 protected:
  // Returns the words of a run with the test's parameter: a communicator and further options. frequent_exchanges() adds
  // options that suit runs with at least `ranks` ranks.
  std::string with(const std::string& more, int ranks = 1) const {
    std::string words = "--communicator " + GetParam() + " ";
    const std::string communicator = GetParam().substr(0, GetParam().find(' '));
    for (const auto& [name, text] : frequent_exchanges(communicator, ranks)) words += "--" + name + " " + text + " ";
    return words + more;
  }
  const Place place_;
};

TEST_P(SameRun, over_threads_and_under_mpirun_leaves_the_same_bits) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const std::string threads = model_of(place_, with("--transport threads --ranks 2", 2));
  EXPECT_EQ(model_of(place_, with("", 2), 2), threads);
  EXPECT_EQ(model_of(place_, with("", 2), 2), threads) << "again";
  EXPECT_NE(model_of(place_, with("", 2), 3), threads) << "another number of ranks";
}

TEST_P(SameRun, with_another_seed_leaves_others) {
  EXPECT_EQ(model_of(place_, with("")), model_of(place_, with("")));
  EXPECT_NE(model_of(place_, with("")), model_of(place_, with("--seed 2")));
}

TEST_P(SameRun, resumed_leaves_the_bits_and_steps_of_the_uninterrupted) {
  const std::string threads = " --transport threads --ranks 2 ";
  const std::string whole = model_of(place_, with("--epochs 3" + threads, 2));
  model_of(place_, with("--epochs 1" + threads, 2));
  expect_end(0, place_.eave(quick("--crop 7 --flip --run-dir run --resume " + with("--epochs 3" + threads, 2))));
  EXPECT_EQ(place_.read("run/model.safetensors"), whole);
  std::map<int, std::vector<int>> steps;
  for (const Json& step : records_of(place_, "step")) steps[step.at("rank")].push_back(step.at("step"));
  for (auto& [rank, of_rank] : steps) {
    std::sort(of_rank.begin(), of_rank.end());
    ASSERT_EQ(of_rank.size(), 21u);
    for (int i = 0; i < 21; ++i) EXPECT_EQ(of_rank[static_cast<std::size_t>(i)], i + 1) << "each once";
  }
  EXPECT_EQ(steps.size(), 2u);
}

// An epoch has seven steps. The checkpoint after step 10 lies in the middle of an epoch and of an exchange period.
TEST_P(SameRun, resumed_in_the_middle_of_anything_leaves_the_bits_of_the_uninterrupted) {
  const std::string threads = " --transport threads --ranks 2 --epochs 3 ";
  const std::string whole = model_of(place_, with(threads, 2));
  model_of(place_, with(threads + "--evaluate-every 0 --max-steps 13 --checkpoint-every 5", 2));
  std::filesystem::remove_all(place_.path() / "run/checkpoint/step-000013");
  expect_end(0, place_.eave(quick("--crop 7 --flip --run-dir run --resume " + with(threads, 2))));
  EXPECT_EQ(place_.read("run/model.safetensors"), whole);
}

INSTANTIATE_TEST_SUITE_P(With, SameRun, testing::ValuesIn(communicator_names(2)),
                         [](const auto& each) { return identifier(each.param); });

INSTANTIATE_TEST_SUITE_P(WithCompression, SameRun,
                         testing::Values("allreduce --compression int8", "easgd --compression top-k",
                                         "easgd-tree --compression bf16", "bmuf --compression top-k",
                                         "gossip --compression fp16", "downpour --compression bf16"),
                         [](const auto& each) {
                           std::string name = identifier(each.param);
                           std::erase(name, ' ');
                           return name;
                         });

const std::string kReproducible = "--batch 16 --batch-means total --lr 0.05 --reproducible --epochs ";

TEST(Reproducible, models_are_the_same_file_whatever_ranks_they_were_trained_on) {
  const Place place;
  const std::string words = kReproducible + "3 ", one = model_of(place, words);
  EXPECT_EQ(model_of(place, words + "--transport threads --ranks 8"), one);
  if (!has_mpirun()) return;
  EXPECT_EQ(model_of(place, words, 2), one);
  EXPECT_EQ(model_of(place, words, 4), one);
}

// With --reproducible, a change of the number of ranks in the middle of a run does not change the model either.
TEST(Reproducible, a_run_resumed_on_more_ranks_ends_as_if_it_had_not_been_ended) {
  const Place place;
  const std::string whole = model_of(place, kReproducible + "3 ");
  for (const std::string before : {"", "--transport threads --ranks 2"}) {
    model_of(place, kReproducible + "1 " + before);
    expect_end(0, place.eave(quick("--crop 7 --flip --run-dir run --resume elastic --transport threads --ranks 4 " +
                                   kReproducible + "3")));
    EXPECT_EQ(place.read("run/model.safetensors"), whole) << before;
  }
}

TEST(Reproducible, refuses_what_depends_on_ranks) {
  const Place place;
  for (const std::string more : {"--sampling whole", "--lr-scaling linear", "--compression bf16", "--reduction sum",
                                 "--batch-norm-statistics recompute"}) {
    expect_end(64, place.eave(quick("--transport threads --ranks 2 --reproducible " + more)),
               {more.substr(0, more.find(' '))});
  }
  expect_end(64, place.eave(quick("--communicator easgd --reproducible")));
}

const std::string kNorms =
    "--model 'conv2d 4 3x3; batch_norm; relu; flatten; dropout 0.2; dense classes' --communicator allreduce ";

TEST(BatchNormSync, over_threads_and_under_mpirun_leaves_the_same_bits) {
  const Place place;
  const std::string threads = model_of(place, kNorms + "--batch-norm sync --transport threads --ranks 2");
  EXPECT_NE(model_of(place, kNorms + "--transport threads --ranks 2"), threads) << "each rank's own moments";
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  EXPECT_EQ(model_of(place, kNorms + "--batch-norm sync", 2), threads);
}

TEST(BatchNormSync, resumes_to_the_same_bits_and_only_with_it) {
  const Place place;
  const std::string words = kNorms + "--transport threads --ranks 2 ", sync = words + "--batch-norm sync ";
  const std::string whole = model_of(place, sync + "--epochs 3");
  model_of(place, sync + "--epochs 1");
  const std::string resume = "--crop 7 --flip --run-dir run --epochs 3 --resume ";
  expect_end(78, place.eave(quick(resume + words)), {"--batch-norm sync"});
  expect_end(0, place.eave(quick(resume + sync)));
  EXPECT_EQ(place.read("run/model.safetensors"), whole);
}

TEST(BatchNormSync, is_refused_where_it_means_nothing) {
  const Place place;
  const std::string ranks = "--transport threads --ranks 2 --batch-norm sync ";
  for (const auto& [words, why] :
       std::map<std::string, std::string>{{kNorms + "--reproducible --batch-means total", "--reproducible"},
                                          {kNorms + "--batch-norm-statistics local", "has no effect with"},
                                          {kNorms + "--batch-norm-statistics average", "has no effect with"},
                                          {"--communicator easgd", "allreduce"},
                                          {"--communicator allreduce --model mlp", "it has no batch norm"}}) {
    expect_end(64, place.eave(quick(ranks + words)), {"--batch-norm", why});
  }
}

TEST(BatchNormSync, is_said_once_on_the_card) {
  const Place place;
  const std::string own = "--transport threads --ranks 2 --max-steps 1 " + kNorms, sync = own + "--batch-norm sync ";
  const std::string of_all = "mean and variance over the batches of all ranks";
  const auto count = [](const Ended& ended, const std::string& text) {
    return count_of(expect_end(0, ended).output, text);
  };
  const Ended synced = place.eave(quick(sync)),
              recomputed = place.eave(quick(sync + "--batch-norm-statistics recompute"));
  EXPECT_EQ(count(synced, of_all), 1) << synced.output;
  EXPECT_EQ(count(synced, "E[mean_i]"), 0) << synced.output;
  EXPECT_EQ(count(recomputed, of_all), 1) << recomputed.output;
  EXPECT_EQ(count(recomputed, "measured anew"), 1) << recomputed.output;
  EXPECT_EQ(count(place.eave(quick(own)), of_all), 0);
}

// Like --lr-scaling, the option is allowed on one rank, so that one command can compare numbers of ranks.
TEST(BatchNormSync, is_taken_on_one_rank) {
  const Place place;
  expect_end(0, place.eave(quick("--max-steps 2 " + kNorms + "--batch-norm sync")));
}

struct Times {
  double seconds = 0;
  double bytes = 0;
  std::map<int, double> computing;  // rank to the median over its steps
};

Times times_of(const Place& place, const std::string& words) {
  expect_end(0, place.eave("train " + words + " --progress off --run-dir run --overwrite"));
  const Json summary = json_in(place, "run/summary.json");
  Times times{summary.at("seconds"), summary.at("bytes_per_rank"), {}};
  std::map<int, std::vector<double>> steps;
  for (const Json& step : records_of(place, "step")) steps[step.at("rank")].push_back(step.at("computing"));
  for (auto& [rank, of_rank] : steps) {
    std::nth_element(of_rank.begin(), of_rank.begin() + std::ssize(of_rank) / 2, of_rank.end());
    times.computing[rank] = of_rank[of_rank.size() / 2];
  }
  return times;
}

constexpr const char* kTenSteps =
    "--data synthetic --synthetic-samples 400 --synthetic-test-samples 20 --synthetic-size 16 --model 'flatten; dense "
    "64; "
    "relu; dense classes' --batch 8 --max-steps 10 --evaluate-every 0 --transport threads --ranks 2 ";

TEST(SlowRank, computes_so_many_times_as_long) {
  const Place place;
  const Times times =
      times_of(place, std::string(kTenSteps) + "--model mlp --batch 64 --synthetic-samples 2000 --slow-rank 1:4x");
  EXPECT_GT(times.computing.at(1) / times.computing.at(0), 2) << "4 but for noise";
}

// The test checks the least time of an exchange. How much longer it takes depends on the machine.
TEST(ShapedLink, delays_every_exchange) {
  const Place place;
  const Times free = times_of(place, kTenSteps),
              delayed = times_of(place, std::string(kTenSteps) + "--shape-delay 50ms");
  EXPECT_GE(delayed.seconds, 10 * 0.050);
  EXPECT_GT(delayed.seconds, 2 * free.seconds);
}

TEST(ShapedLink, limits_the_rate) {
  const Place place;
  const Times free = times_of(place, kTenSteps),
              limited = times_of(place, std::string(kTenSteps) + "--shape-rate 5mbit");
  EXPECT_GE(limited.seconds, limited.bytes / 625'000);
  EXPECT_GT(limited.seconds, 2 * free.seconds);
  EXPECT_EQ(limited.bytes, free.bytes);
}

}  // namespace
}  // namespace eave
