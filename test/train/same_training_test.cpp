// Trainings that must be equal: p ranks at batch n and one rank at batch pn, two runs with the same seed, and runs with
// and without evaluations.
#include <gtest/gtest.h>

#include "test/train/training.h"

namespace eave {
namespace {

// Trains on `ranks`. Returns the parameters of every rank.
std::vector<std::vector<float>> train_everywhere(const Ranks& ranks, const TrainingSetting& setting) {
  return on_each_rank(ranks, [&](Transport& transport) { return Trained(transport, setting).parameters(); });
}

std::vector<TensorInfo> tensors_of(const TrainingSetting& setting) {
  std::vector<TensorInfo> tensors;
  on_ranks({"loopback", 1}, [&](Transport& transport) { tensors = Training(transport, setting).model().parameters(); });
  return tensors;
}

struct Dealing {
  std::string name;
  std::int64_t samples;
  Sampling sampling;
};

class SameTraining : public testing::TestWithParam<std::tuple<int, Dealing>> {};

// A step has 24 samples over all ranks. Dropout, crop and flip are on, and 50 steps are more than an epoch. The order
// of a step's sums depends on the number of ranks, so the bits differ.
TEST_P(SameTraining, p_ranks_at_batch_n_equal_one_rank_at_batch_pn) {
  const auto& [ranks, dealing] = GetParam();
  TrainingSetting setting = setting_with("allreduce");
  setting.samples = dealing.samples;
  setting.sampling = dealing.sampling;
  setting.plan.steps = 50;
  setting.batch = 24;
  const std::vector<float> alone = train_everywhere({"loopback", 1}, setting).front();
  setting.batch = 24 / ranks;
  const std::vector<std::vector<float>> together = train_everywhere({"threads", ranks}, setting);
  for (const std::vector<float>& parameters : together) EXPECT_EQ(parameters, together.front());
  for (const TensorInfo& tensor : tensors_of(setting)) {
    EXPECT_LT(relative_distance(values_of_tensor(together.front(), tensor), values_of_tensor(alone, tensor)), 1e-5)
        << tensor.name;
  }
}

TEST(SameTrainingIsNot, without_the_same_samples_in_each_step) {
  TrainingSetting setting;
  setting.plan.steps = 50;
  const std::vector<float> one = train_everywhere({"loopback", 1}, setting).front();
  setting.seed = 2;
  EXPECT_GT(relative_distance(train_everywhere({"loopback", 1}, setting).front(), one), 1e-2);
}

// 960 samples divide evenly. With 997 samples, the last step of an epoch has 13. With 961 it has one, so most ranks
// have none.
INSTANTIATE_TEST_SUITE_P(
    Ranks, SameTraining,
    testing::Combine(testing::Values(1, 2, 4),
                     testing::Values(Dealing{"even", 960, Sampling::kShard}, Dealing{"uneven", 997, Sampling::kShard},
                                     Dealing{"one_left", 961, Sampling::kShard},
                                     Dealing{"stratified", 997, Sampling::kStratified})),
    [](const auto& each) { return std::get<1>(each.param).name + "_" + std::to_string(std::get<0>(each.param)); });

class SameBits : public testing::TestWithParam<std::string> {
 protected:
  TrainingSetting setting() const {
    TrainingSetting setting = setting_with(GetParam());
    setting.samples = 97;
    setting.plan.steps = 20;
    return setting;
  }
};

TEST_P(SameBits, come_from_the_same_seed_and_the_same_number_of_ranks) {
  for (int ranks : {1, 3}) {
    const auto once = train_everywhere({"threads", ranks}, setting());
    EXPECT_EQ(train_everywhere({"threads", ranks}, setting()), once);
  }
}

TEST_P(SameBits, come_from_one_rank_over_loopback_and_over_threads) {
  EXPECT_EQ(train_everywhere({"loopback", 1}, setting()), train_everywhere({"threads", 1}, setting()));
}

TEST_P(SameBits, come_with_and_without_evaluations_between) {
  TrainingSetting often = setting(), batch_norm = setting();
  often.plan.evaluate_every_steps = 1;
  EXPECT_EQ(train_everywhere({"threads", 3}, often), train_everywhere({"threads", 3}, setting()));
  batch_norm.model = "conv2d 4 3x3 no_bias; batch_norm; relu; global_pool; dense classes";
  often.model = batch_norm.model;
  EXPECT_EQ(train_everywhere({"threads", 3}, often), train_everywhere({"threads", 3}, batch_norm));
}

INSTANTIATE_TEST_SUITE_P(With, SameBits, testing::ValuesIn(communicator_names(2)), in_identifiers);

}  // namespace
}  // namespace eave
