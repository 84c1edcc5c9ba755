// --reproducible: the result has the same bits for every number of ranks.
#include <gtest/gtest.h>

#include "test/temporary_directory.h"
#include "test/train/training.h"

namespace eave {
namespace {

constexpr std::int64_t kBatch = 24;  // of all ranks together

// A training with all that could depend on the number of ranks: batch norm, dropout, crop, flip, momentum, and 97
// samples, a prime number.
TrainingSetting setting_for(int ranks) {
  TrainingSetting setting;
  setting.model =
      "conv2d 4 3x3 pad 1; batch_norm; relu; max_pool 2; flatten; dense 16; relu; dropout 0.5; dense classes";
  setting.samples = 97;
  setting.batch = kBatch / ranks;
  setting.averaging = {{"reproducible", "on"}, {"micro-batches", "8"}, {"bucket-bytes", "4096"}};
  setting.plan.steps = 15;
  return setting;
}

struct End {
  std::vector<float> parameters, statistics, velocity;
  friend bool operator==(const End&, const End&) = default;
};

End end_of(const Training& training) { return {training.parameters(), training.statistics(), training.momentum()}; }

// Trains on `ranks` threads. Returns the results of all ranks.
std::vector<End> train_on(int ranks, const TrainingSetting& setting) {
  return on_each_rank({"threads", ranks}, [&](Transport& transport) { return end_of(Trained(transport, setting)); });
}

TEST(Reproducible, ends_with_the_same_bits_on_1_2_4_and_8_ranks) {
  const End one = train_on(1, setting_for(1)).front();
  ASSERT_GT(one.statistics.size(), 0u);
  for (const int ranks : {2, 4, 8}) {
    for (const End& end : train_on(ranks, setting_for(ranks))) EXPECT_TRUE(end == one) << ranks << " ranks";
  }
}

// Shows that the option is needed.
TEST(Reproducible, without_it_the_bits_differ) {
  const auto usual = [](int ranks) {
    TrainingSetting setting = setting_for(ranks);
    setting.averaging = {};
    return train_on(ranks, setting).front();
  };
  EXPECT_NE(usual(1).parameters, usual(4).parameters);
}

TEST(Reproducible, without_batch_norm_is_the_usual_training_but_for_rounding) {
  TrainingSetting setting = setting_for(2);
  setting.model = TrainingSetting().model;
  const End sums = train_on(2, setting).front();
  setting.averaging = {};
  const End usual = train_on(2, setting).front();
  EXPECT_NE(sums.parameters, usual.parameters);
  for (std::size_t i = 0; i < usual.parameters.size(); ++i) {
    EXPECT_NEAR(sums.parameters[i], usual.parameters[i], 2e-5) << i;
  }
}

struct LongEnd {
  std::vector<std::vector<float>> vectors;  // the parameters, the statistics, the average, and the optimizer's
  friend bool operator==(const LongEnd&, const LongEnd&) = default;
};

std::vector<LongEnd> train_long_on(int ranks, const TrainingSetting& setting) {
  return on_each_rank({ranks == 1 ? "loopback" : "threads", ranks}, [&](Transport& transport) {
    Trained training(transport, setting);
    LongEnd end{{training.parameters(), training.statistics(), training.average()}};
    for (const Slice vector : training.replica().optimizer.state())
      end.vectors.emplace_back(vector.begin(), vector.end());
    return end;
  });
}

// Saves after step 7 on `before` ranks, and goes on to step 15 on `ranks`.
std::vector<LongEnd> resume_on(int ranks, int before, TrainingSetting setting) {
  const TemporaryDirectory temporary;
  setting.plan.checkpoints.directory = temporary.path();
  setting.plan.steps = 7;
  setting.batch = kBatch / before;
  train_long_on(before, setting);
  setting.plan.first_step = setting.plan.elastic_step = 7;
  setting.plan.steps = 15;
  setting.batch = kBatch / ranks;
  return train_long_on(ranks, setting);
}

class ReproducibleRule : public testing::TestWithParam<std::string> {};

TEST_P(ReproducibleRule, ends_with_the_same_bits_if_the_number_of_ranks_changes_on_the_way) {
  TrainingSetting setting = setting_for(1);
  setting.model = "conv2d 4 3x3 pad 1; batch_norm; relu; max_pool 2; flatten; dense 16; relu; dense classes";
  setting.rule = GetParam();
  if (setting.rule != "sgd") setting.optimizer = {};
  setting.ema_decay = 0.9;
  const LongEnd whole = train_long_on(1, setting).front();
  for (const int before : {1, 2, 4}) {
    for (const int ranks : {1, 2, 4}) {
      if (ranks == before) continue;
      for (const LongEnd& end : resume_on(ranks, before, setting))
        EXPECT_TRUE(end == whole) << before << " to " << ranks << " ranks";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(With, ReproducibleRule, testing::Values("sgd", "adamw", "muon"), in_identifiers);

using Parts = std::vector<std::vector<float>>;

std::vector<float> sum(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> both(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) both[i] = a[i] + b[i];
  return both;
}

std::vector<float> sum_in_pairs(Parts parts) {
  while (parts.size() > 1) {
    Parts pairs;
    for (std::size_t i = 0; i < parts.size(); i += 2) pairs.push_back(sum(parts[i], parts[i + 1]));
    parts = pairs;
  }
  return parts.front();
}

// Computes the first step by hand: 8 micro-batches of 3 samples, each with the initial parameters and statistics.
TEST(Reproducible, gradients_and_statistics_are_those_of_micro_batches_summed_in_pairs) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting = setting_for(2);
    setting.plan.steps = 1;
    Training training(transport, setting);
    const std::vector<float> parameters = training.parameters();
    const std::vector<float> statistics = training.statistics();
    Sampler sampler(Sampling::kShard, setting.samples, 1, kBatch, setting.seed, {});
    Loader loader(training.data(), sampler, {setting.augmentation, setting.seed, 0, 0, 1});
    const Batch& all = loader.next();
    Model model = training.another_model();
    Parts gradients, moved;
    for (std::size_t part = 0; part < 8; ++part) {
      Batch three = all;
      const auto image = static_cast<std::size_t>(training.input().size());
      three.samples = 3;
      three.inputs = all.inputs.subspan(part * 3 * image, 3 * image);
      three.labels = all.labels.subspan(part * 3, 3);
      three.indices = all.indices.subspan(part * 3, 3);
      gradients.emplace_back(parameters.size());
      moved.push_back(statistics);
      model.train(three, setting.seed, parameters, moved.back(), gradients.back(), 3.0f / 24, {});
      for (float& value : moved.back()) value *= 3.0f / 24;
    }
    training.run();
    const End end = end_of(training);
    EXPECT_EQ(end.velocity, sum_in_pairs(gradients)) << "of the first step, from rest";
    EXPECT_EQ(end.statistics, sum_in_pairs(moved));
  });
}

TEST(Reproducible, refuses_what_makes_no_tree) {
  const auto refusal = [](int ranks, const Given& more) {
    TrainingSetting setting = setting_for(1);
    for (const auto& given : more) setting.averaging.push_back(given);  // the last value of an option counts
    const EndedJob ended = run_job(ranks, [&](Transport& transport) { Training training(transport, setting); });
    EXPECT_EQ(ended.code, 64);
    return ended.messages[0];
  };
  EXPECT_NE(refusal(3, {}).find("3 ranks do not divide them"), std::string::npos);
  EXPECT_NE(refusal(2, {{"micro-batches", "1"}}).find("2 ranks do not divide them"), std::string::npos);
  EXPECT_NE(refusal(1, {{"micro-batches", "6"}}).find("power of two"), std::string::npos);
  EXPECT_NE(refusal(2, {{"reduction", "mean"}}).find("--reduction mean"), std::string::npos);
  EXPECT_NE(refusal(2, {{"loss-reduction", "sum"}}).find("--loss-reduction sum"), std::string::npos);
  EXPECT_NE(refusal(2, {{"reproducible", "off"}}).find("belongs to --reproducible"), std::string::npos);
}

}  // namespace
}  // namespace eave
