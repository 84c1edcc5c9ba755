// The batch-norm statistics with which the center is evaluated and saved.
#include <gtest/gtest.h>

#include <cmath>

#include "eave/random.h"
#include "test/temporary_directory.h"
#include "test/train/training.h"

namespace eave {
namespace {

constexpr std::size_t kChannels = 3;
constexpr double kEpsilon = 1e-5;

// 100 images make 7 batches of 16, the last of which has 4. 7 batches do not divide evenly among 2, 3 or 4 ranks.
TrainingSetting measured(const std::string& model) {
  TrainingSetting setting;
  setting.model = model;
  setting.samples = 100;
  setting.batch = 16;
  setting.augmentation = {};
  setting.plan.statistics = NormStatistics::kRecompute;
  setting.plan.recompute_batches = 1000;
  return setting;
}

using Rows = std::vector<std::vector<double>>;  // [channel][value]

struct Moments {
  double mean = 0, variance = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments moments;
  for (const double value : values) moments.mean += value / static_cast<double>(values.size());
  for (const double value : values) {
    moments.variance += (value - moments.mean) * (value - moments.mean) / static_cast<double>(values.size());
  }
  return moments;
}

Rows inputs_of(const DataSplit& data, const std::vector<std::int64_t>& indices) {
  Rows rows(kChannels);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(data.train->shape().size()));
  for (const std::int64_t index : indices) {
    data.train->read(index, pixels);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t channel = i % kChannels;
      rows[channel].push_back((pixels[i] / 255.0 - data.mean[channel]) / data.deviation[channel]);
    }
  }
  return rows;
}

// The reference of "batch_norm; relu" with the moments of this batch.
Rows normalised(const Rows& batch, const std::vector<float>& scale, const std::vector<float>& shift) {
  Rows output(kChannels);
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    const Moments own = moments_of(batch[channel]);
    for (const double value : batch[channel]) {
      const double norm = (value - own.mean) / std::sqrt(own.variance + kEpsilon);
      output[channel].push_back(std::max(0.0, scale[channel] * norm + shift[channel]));
    }
  }
  return output;
}

std::vector<float> random_parameters(std::int64_t size) {
  RandomStream random({.seed = 4, .purpose = Purpose::kTest}, 0);
  std::vector<float> parameters(static_cast<std::size_t>(size));
  for (float& value : parameters) value = random.normal();
  return parameters;
}

void expect_moments(const std::vector<float>& statistics, const Model& model, std::size_t norm, const Rows& rows) {
  const std::vector<float> means = values_of_tensor(statistics, model.statistics()[2 * norm]);
  const std::vector<float> variances = values_of_tensor(statistics, model.statistics()[2 * norm + 1]);
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    Moments expected = moments_of(rows[channel]);
    // Like PyTorch's running_var, the variance is divided by N - 1.
    const auto size = static_cast<double>(rows[channel].size());
    expected.variance *= size / (size - 1);
    // Values are of order 1. Sums within a batch are in float, sums over batches in double.
    EXPECT_NEAR(means[channel], expected.mean, 2e-6) << "batch norm " << norm;
    EXPECT_NEAR(variances[channel], expected.variance, 4e-6 * expected.variance) << "batch norm " << norm;
  }
}

TEST(RecomputedStatistics, are_those_of_a_whole_pass_in_double) {
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks({"threads", ranks}, [](Transport& transport) {
      Training training(transport, measured("batch_norm; relu; batch_norm; flatten; dense classes"));
      const Model& model = training.model();
      const std::vector<float> parameters = random_parameters(model.parameter_size());
      const std::vector<float> scale = values_of_tensor(parameters, model.parameters()[0]);
      const std::vector<float> shift = values_of_tensor(parameters, model.parameters()[1]);
      Sampler sampler(Sampling::kShard, 100, 1, 16, 1, {});
      Rows first(kChannels), second(kChannels);
      for (std::int64_t step = 0; step < 7; ++step) {
        std::vector<std::int64_t> indices(static_cast<std::size_t>(step < 6 ? 16 : 4));
        sampler.indices(0, step, 0, indices);
        const Rows batch = inputs_of(training.data(), indices), after = normalised(batch, scale, shift);
        for (std::size_t channel = 0; channel < kChannels; ++channel) {
          first[channel].insert(first[channel].end(), batch[channel].begin(), batch[channel].end());
          second[channel].insert(second[channel].end(), after[channel].begin(), after[channel].end());
        }
      }
      const std::vector<float> statistics = statistics_for(training.parts(), training.plan(), parameters);
      expect_moments(statistics, model, 0, first);
      expect_moments(statistics, model, 1, second);
      EXPECT_TRUE(same_on_all_ranks(transport, statistics));
    });
  }
}

// After a dense layer, 16 samples are only N = 16 rows, so N / (N - 1) is 1.067 and a biased variance would show. One
// step with momentum 0.1 moves the running variance from 1 by a tenth of its way to the measured variance.
TEST(RecomputedStatistics, of_one_batch_are_what_a_step_moves_running_averages_towards) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    TrainingSetting setting = measured("flatten; dense 3; batch_norm; relu; dense classes");
    setting.plan.recompute_batches = 1;
    setting.plan.steps = 1;
    setting.rate = {{"lr", "1e-30"}};
    Trained training(transport, setting);
    const std::vector<float> moved = training.statistics();
    const std::vector<float> measured = statistics_for(training.parts(), training.plan(), training.parameters());
    const TensorInfo& variance = training.model().statistics()[1];
    for (auto i = static_cast<std::size_t>(variance.offset); i < static_cast<std::size_t>(variance.offset + 3); ++i) {
      // If one of the two were biased, they would differ by 0.0067 of the measured variance.
      EXPECT_NEAR(moved[i], 1 + 0.1 * (measured[i] - 1), 1e-5 * measured[i]);
    }
  });
}

// With three batches, one of 4 ranks measures nothing. With one batch, three of them measure nothing.
TEST(RecomputedStatistics, are_the_same_for_every_number_of_ranks) {
  for (const std::int64_t batches : {1, 3}) {
    std::vector<float> alone;
    for (const int ranks : {1, 2, 4}) {
      on_ranks({"threads", ranks}, [&](Transport& transport) {
        TrainingSetting setting = measured("conv2d 4 3x3; batch_norm; relu; flatten; dense classes");
        setting.plan.recompute_batches = batches;
        setting.augmentation = {.pad = 1, .crop_height = 10, .crop_width = 10, .flip = true};
        Training training(transport, setting);
        const std::vector<float> parameters = random_parameters(training.model().parameter_size());
        const std::vector<float> statistics = statistics_for(training.parts(), training.plan(), parameters);
        if (ranks == 1) alone = statistics;
        // The ranks' moments are merged in double, in another order for each number of ranks.
        for (std::size_t i = 0; i < alone.size(); ++i) {
          EXPECT_NEAR(statistics[i], alone[i], 1e-6 * std::abs(alone[i])) << ranks << " ranks";
        }
      });
    }
    EXPECT_NE(alone, std::vector<float>(alone.size()));
  }
}

TEST(RecomputedStatistics, are_those_without_dropout) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    std::vector<std::vector<float>> results;
    for (const std::string dropout : {"", "dropout 0.5; "}) {
      Training training(transport, measured("conv2d 4 3x3; relu; " + dropout + "batch_norm; flatten; dense classes"));
      const std::vector<float> parameters = random_parameters(training.model().parameter_size());
      results.push_back(statistics_for(training.parts(), training.plan(), parameters));
    }
    EXPECT_EQ(results[0], results[1]);
  });
}

TEST(LocalStatistics, are_rank_0s) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = measured("conv2d 4 3x3 no_bias; batch_norm; relu; global_pool; dense classes");
    setting.communicator = "easgd";
    setting.averaging = {{"tau", "3"}};
    setting.plan.statistics = NormStatistics::kLocal;
    Trained training(transport, setting);
    const auto of_ranks = gather(transport, training.statistics());
    EXPECT_NE(of_ranks[0], of_ranks[1]);
    EXPECT_EQ(statistics_for(training.parts(), training.plan(), training.center()), of_ranks[0]);
  });
}

class Statistics : public testing::TestWithParam<std::string> {};

TrainingSetting with_norm(const std::string& communicator, NormStatistics statistics) {
  TrainingSetting setting = setting_with(communicator);
  setting.model = "conv2d 4 3x3 no_bias; batch_norm; relu; global_pool; dropout 0.2; dense classes";
  setting.plan.evaluate_every_steps = 4;
  setting.plan.statistics = statistics;
  setting.plan.recompute_batches = 5;
  return setting;
}

TEST_P(Statistics, of_the_center_leave_training_alone) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    std::vector<std::vector<float>> parameters, statistics;
    for (const auto kind : {NormStatistics::kAverage, NormStatistics::kLocal, NormStatistics::kRecompute}) {
      Trained training(transport, with_norm(GetParam(), kind));
      parameters.push_back(training.parameters());
      statistics.push_back(training.statistics());
    }
    EXPECT_EQ(parameters[1], parameters[0]);
    EXPECT_EQ(parameters[2], parameters[0]);
    EXPECT_EQ(statistics[1], statistics[0]);
    EXPECT_EQ(statistics[2], statistics[0]);
  });
}

TEST_P(Statistics, of_a_run_that_was_resumed_have_the_same_bits) {
  const TemporaryDirectory directory;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting = with_norm(GetParam(), NormStatistics::kRecompute);
    Trained whole(transport, setting);
    const EvaluationRecord& expected = whole.result.evaluation;
    setting.plan.checkpoints.directory = directory.path();
    setting.plan.steps = 8;
    Training(transport, setting).run();
    setting.plan.first_step = 8;
    setting.plan.steps = 12;
    Trained resumed(transport, setting);
    const EvaluationRecord& record = resumed.result.evaluation;
    EXPECT_EQ(statistics_for(resumed.parts(), resumed.plan(), resumed.center()),
              statistics_for(whole.parts(), whole.plan(), whole.center()));
    EXPECT_EQ(record.center.loss, expected.center.loss);
    EXPECT_EQ(record.center.accuracy, expected.center.accuracy);
  });
}

INSTANTIATE_TEST_SUITE_P(With, Statistics, testing::ValuesIn(communicator_names(3)), in_identifiers);

}  // namespace
}  // namespace eave
