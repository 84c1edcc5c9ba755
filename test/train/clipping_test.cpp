// --clip-norm: the norm of the whole gradient, averaged or of one rank, bounds every step.
#include <gtest/gtest.h>

#include <cmath>

#include "eave/agreement.h"
#include "test/train/training.h"
#include "train/loop/step_gradient.h"

namespace eave {
namespace {

constexpr double kRate = 0.125, kLimit = 0.03125;

// Plain descent: a step is the rate times the clipped gradient.
TrainingSetting plain(const std::string& communicator, int ranks) {
  TrainingSetting setting = setting_with(communicator, ranks);
  setting.optimizer = {{"momentum", "0"}};
  setting.rate = {{"lr", "0.125"}};
  setting.plan.steps = 1;
  setting.plan.clip_norm = kLimit;
  return setting;
}

std::vector<double> step_of(Transport& transport, const TrainingSetting& setting) {
  Training training(transport, setting);
  std::vector<float> before = training.parameters();
  training.run();
  const std::vector<float> after = training.parameters();
  std::vector<double> step(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) step[i] = double{after[i]} - double{before[i]};
  return step;
}

double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

TEST(Clipping, has_the_factor_of_its_formula) {
  EXPECT_EQ(clip_factor(0, 1), 1);
  EXPECT_EQ(clip_factor(1, 1), 1);
  EXPECT_EQ(clip_factor(4, 1), 0.25f);
  EXPECT_EQ(clip_factor(8, 0.5), 0.0625f);
  EXPECT_TRUE(std::isnan(clip_factor(INFINITY, 1)));
  EXPECT_TRUE(std::isnan(clip_factor(NAN, 1)));
}

// The reference is the step without clipping, in double.
TEST(Clipping, scales_the_averaged_gradient_of_all_ranks_to_the_limit) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    const TrainingSetting clipped = plain("allreduce", 2);
    TrainingSetting whole = clipped;
    whole.plan.clip_norm = 0;
    const std::vector<double> step = step_of(transport, whole), shorter = step_of(transport, clipped);
    const double norm = norm_of(step) / kRate;
    ASSERT_GT(norm, 2 * kLimit);
    Training training(transport, clipped);
    training.run();
    EXPECT_NEAR(training.steps.front().gradient_norm.value(), norm, 1e-5 * norm);
    for (std::size_t i = 0; i < step.size(); ++i) EXPECT_NEAR(shorter[i], step[i] * kLimit / norm, 1e-7) << i;
  });
}

TEST(Clipping, leaves_a_gradient_below_the_limit_with_its_bits) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting = setting_with("easgd", 2);
    const std::vector<float> usual = Trained(transport, setting).parameters();
    setting.plan.clip_norm = 1e6;
    EXPECT_EQ(Trained(transport, setting).parameters(), usual);
  });
}

TEST(Clipping, measures_each_ranks_own_gradient_unless_gradients_are_averaged) {
  const auto norms_with = [](const std::string& communicator) {
    return on_each_rank({"threads", 2}, [&](Transport& transport) {
      Training training(transport, plain(communicator, 2));
      training.run();
      return training.steps.front().gradient_norm.value();
    });
  };
  const std::vector<double> averaged = norms_with("allreduce"), own = norms_with("easgd");
  EXPECT_EQ(averaged[0], averaged[1]);
  EXPECT_NE(own[0], own[1]);
}

TEST(Clipping, has_the_same_bits_on_1_2_4_and_8_ranks_if_reproducible) {
  const auto end_on = [](int ranks) {
    TrainingSetting setting;
    setting.samples = 97;
    setting.batch = 24 / ranks;
    setting.averaging = {{"reproducible", "on"}, {"micro-batches", "8"}, {"bucket-bytes", "4096"}};
    setting.plan.clip_norm = 0.25;
    return on_each_rank({"threads", ranks}, [&](Transport& transport) {
      Training training(transport, setting);
      training.run();
      std::vector<double> norms;
      for (const StepRecord& step : training.steps) norms.push_back(step.gradient_norm.value());
      return std::pair(training.parameters(), norms);
    });
  };
  const auto one = end_on(1).front();
  EXPECT_GT(*std::ranges::max_element(one.second), 0.25);
  for (const int ranks : {2, 4, 8}) {
    for (const auto& end : end_on(ranks)) EXPECT_TRUE(end == one) << ranks << " ranks";
  }
}

// With an infinite norm the share of no element is known, so the whole step is left out.
TEST(Clipping, leaves_out_a_whole_step_whose_norm_is_not_finite) {
  for (const auto kind : {InjectedFault::Kind::kNanGradient, InjectedFault::Kind::kInfGradient}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      TrainingSetting setting = plain("easgd", 2);
      setting.averaging = {{"tau", "4"}};
      if (transport.rank() == 1) setting.plan.fault = {kind, 0, 17, 0};
      const std::vector<double> step = step_of(transport, setting);
      EXPECT_EQ(norm_of(step) == 0, transport.rank() == 1);
      setting.plan.steps = 3;
      Training training(transport, setting);
      EXPECT_EQ(training.run().progress.nonfinite, transport.rank());
      EXPECT_EQ(training.steps[0].gradient_norm.has_value(), transport.rank() == 0);
      EXPECT_TRUE(training.steps[1].gradient_norm.has_value());
    });
  }
}

class ClippedMethods : public OfMethods {};

// No method moves its consensus further than its workers go together. The bound allows for momentum of a center.
TEST_P(ClippedMethods, move_no_further_than_their_clipped_gradients) {
  for (const bool clips : {true, false}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      TrainingSetting setting = plain(GetParam(), 2);
      constexpr int kUpdates = 12;
      setting.plan.steps = kUpdates;
      setting.plan.clip_norm = clips ? 1e-6 : 0;
      Training training(transport, setting);
      const std::vector<float> before = training.parameters();
      training.run();
      const std::vector<float> after = training.center();
      std::vector<double> path(after.size());
      for (std::size_t i = 0; i < path.size(); ++i) path[i] = double{after[i]} - double{before[i]};
      constexpr double kMomentum = 10, kRounding = 1e-4;
      const double most = kMomentum * 2 * kUpdates * kRate * 1e-6 + kRounding;
      EXPECT_EQ(norm_of(path) <= most, clips) << norm_of(path);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ClippedMethods, testing::ValuesIn(communicator_names(2)), in_identifiers);

// Without dropout and batch norm, parts of a batch have the whole batch's gradient.
class AccumulatingMethods : public OfMethods {};

TEST_P(AccumulatingMethods, compute_the_gradient_of_the_whole_batch_in_parts) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting = setting_with(GetParam(), 2);
    setting.samples = 77;  // the last batches of an epoch cannot be divided evenly, and may be empty
    setting.plan.steps = 6;
    Training whole(transport, setting);
    whole.run();
    setting.plan.passes = 3;
    Training in_parts(transport, setting);
    in_parts.run();
    const std::vector<float> usual = whole.parameters(), mine = in_parts.parameters();
    EXPECT_NE(mine, usual) << "sums in another order round differently";
    const std::vector<float> center = whole.center(), of_parts = in_parts.center();
    for (std::size_t i = 0; i < center.size(); ++i) {
      ASSERT_NEAR(of_parts[i], center[i], 2e-5) << i;
      ASSERT_NEAR(mine[i], usual[i], 2e-5) << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Every, AccumulatingMethods, testing::ValuesIn(communicator_names(2)), in_identifiers);

}  // namespace
}  // namespace eave
