// --ema-decay: the moving average of the consensus, against its formula in double, and its score.
#include <gtest/gtest.h>

#include <cmath>

#include "eave/agreement.h"
#include "test/train/training.h"

namespace eave {
namespace {

TEST(ConsensusAverage, follows_its_formula_in_double) {
  for (const std::int64_t every : {1, 3}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      TrainingSetting setting;
      setting.plan.steps = 11;
      setting.ema_decay = 0.8;
      setting.ema_every = every;
      Training training(transport, setting);
      std::vector<double> expected;
      std::int64_t last = 0;
      training.at_step = [&](const StepRecord& step) {
        const std::vector<float> now = training.parameters();
        if (expected.empty()) expected.assign(now.begin(), now.end());
        if (step.step != 1 && step.step % every != 0) return;
        const double kept = step.step == 1 ? 0 : std::pow(0.8, static_cast<double>(step.step - last));
        for (std::size_t i = 0; i < now.size(); ++i) expected[i] = kept * expected[i] + (1 - kept) * now[i];
        last = step.step;
      };
      training.run();
      const std::vector<float> average = training.average();
      EXPECT_TRUE(same_on_all_ranks(transport, average));
      EXPECT_NE(average, training.parameters());
      for (std::size_t i = 0; i < average.size(); ++i) ASSERT_NEAR(average[i], expected[i], 1e-6) << i;
    });
  }
}

TEST(ConsensusAverage, of_a_center_follows_the_center) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting = setting_with("easgd", 2);
    setting.ema_decay = 1e-30;
    Training training(transport, setting);
    training.run();
    EXPECT_EQ(training.average(), training.center());
    const EvaluationRecord& last = training.evaluations.back();
    EXPECT_EQ(last.ema.value().loss, last.center.loss);
    EXPECT_EQ(last.ema.value().accuracy, last.center.accuracy);
  });
}

// With a share of 1 the average is the consensus. The last one is that of the end.
TEST(ConsensusAverage, follows_the_consensus_of_every_method) {
  for (const CommunicatorKind& kind : communicator_kinds()) {
    on_ranks({"threads", kind.traits.only_one_rank ? 1 : 2}, [&](Transport& transport) {
      TrainingSetting setting;
      setting.communicator = kind.name;
      setting.averaging = frequent_exchanges(kind.name, transport.size());
      setting.plan.steps = 6;
      setting.ema_decay = 1e-30;
      setting.ema_every = 3;
      Training training(transport, setting);
      training.run();
      EXPECT_TRUE(same_on_all_ranks(transport, training.average())) << kind.name;
      EXPECT_EQ(training.average(), training.center()) << kind.name;
    });
  }
}

// The consensus after so many steps, as a run without an average ends with it.
std::vector<float> consensus_after(Transport& transport, TrainingSetting setting, std::int64_t steps) {
  setting.plan.steps = steps;
  setting.ema_decay = 0;
  Training training(transport, setting);
  training.run();
  return training.center();
}

TEST(ConsensusAverage, of_every_method_is_that_of_the_ends_of_shorter_runs) {
  constexpr double kDecay = 0.8;
  for (const CommunicatorKind& kind : communicator_kinds()) {
    on_ranks({"threads", kind.traits.only_one_rank ? 1 : 2}, [&](Transport& transport) {
      TrainingSetting setting = setting_with(kind.name, transport.size());
      setting.plan.steps = 10;
      setting.ema_decay = kDecay;
      setting.ema_every = 3;
      Training training(transport, setting);
      training.run();
      const std::vector<float> average = training.average(), first = consensus_after(transport, setting, 1);
      std::vector<double> expected(first.begin(), first.end());
      for (const auto& [steps, since] : {std::pair(3, 2), std::pair(6, 3), std::pair(9, 3)}) {
        const std::vector<float> now = consensus_after(transport, setting, steps);
        const double kept = std::pow(kDecay, since);
        for (std::size_t i = 0; i < now.size(); ++i) expected[i] = kept * expected[i] + (1 - kept) * now[i];
      }
      EXPECT_NE(average, training.center()) << kind.name;
      for (std::size_t i = 0; i < average.size(); ++i) ASSERT_NEAR(average[i], expected[i], 1e-6) << kind.name;
    });
  }
}

TEST(ConsensusAverage, changes_no_bit_of_the_training) {
  for (const std::string method :
       {"allreduce", "easgd", "local-sgd", "bmuf", "diloco", "slowmo", "gossip", "none", "easgd-tree"}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      TrainingSetting setting = setting_with(method, 2);
      const std::vector<float> usual = Trained(transport, setting).parameters();
      setting.ema_decay = 0.9;
      setting.ema_every = 2;
      Trained averaged(transport, setting);
      EXPECT_EQ(averaged.parameters(), usual) << method;
      EXPECT_TRUE(averaged.evaluations.back().ema.has_value());
    });
  }
}

}  // namespace
}  // namespace eave
