// Workers begin anew from the center when the learning rate drops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "eave/update_steps.h"
#include "test/temporary_directory.h"
#include "test/train/training.h"

namespace eave {
namespace {

// 12 steps on 3 ranks with 4 steps per epoch. The learning rate drops before steps 4 and 8, counted from 0.
TrainingSetting dropping(const std::string& method, const std::string& factor) {
  TrainingSetting setting = setting_with(method, 3);
  setting.rate = {{"lr", "0.02"}, {"lr-schedule", "step"}, {"lr-step-epochs", "1,2"}, {"lr-step-factor", factor}};
  setting.plan.reset_on_drop = true;
  return setting;
}

class OnDrop : public testing::TestWithParam<std::string> {};

// A reset sets AdamW's averages to 0. So its count of updates, which corrects their bias, begins anew, too.
TEST_P(OnDrop, workers_begin_anew_once_for_each_drop_before_its_first_step) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    for (const bool resets : {true, false}) {
      TrainingSetting setting = dropping(GetParam(), "0.1");
      setting.rule = "adamw";
      setting.optimizer = {};
      setting.plan.reset_on_drop = resets;
      Training training(transport, setting);
      std::vector<std::int64_t> counts;
      training.at_step = [&](const StepRecord&) { counts.push_back(*training.replica().optimizer.update_count()); };
      training.run();
      const std::vector<std::int64_t> anew{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4},
          on{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
      EXPECT_EQ(counts, resets ? anew : on);
    }
  });
}

// After the drop the learning rate is so small that steps move nothing. So the workers stay where they began anew.
TEST_P(OnDrop, all_replicas_equal_the_consensus) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    for (const bool resets : {true, false}) {
      TrainingSetting setting = dropping(GetParam(), "1e-30");
      setting.plan.steps = 5;
      setting.plan.reset_on_drop = resets;
      const EvaluationRecord record = Training(transport, setting).run().evaluation;
      if (resets) {
        EXPECT_LT(record.distance_max, 1e-7);  // not 0, because a mean of equal floats is rounded
      } else {
        EXPECT_GT(record.distance_max, 1e-3);
      }
    }
  });
}

TEST_P(OnDrop, a_run_that_is_resumed_there_has_the_same_bits) {
  const TemporaryDirectory directory;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    TrainingSetting setting = dropping(GetParam(), "0.1");
    setting.plan.evaluate_every_steps = 4;
    Trained whole(transport, setting);
    setting.plan.checkpoints.directory = directory.path();
    setting.plan.steps = 4;
    Training(transport, setting).run();
    setting.plan.first_step = 4;
    setting.plan.steps = 12;
    Trained resumed(transport, setting);
    EXPECT_EQ(resumed.parameters(), whole.parameters());
    EXPECT_EQ(resumed.center(), whole.center());
  });
}

INSTANTIATE_TEST_SUITE_P(With, OnDrop, testing::ValuesIn(methods_with(&CommunicatorTraits::resets_to_center)),
                         in_identifiers);

// The 11th step follows a reset, so it must be as long as AdamW's first step: the learning rate. If the count of
// updates were kept, it would be 0.48 times this here, and 3.2 times late in a run.
TEST(ResetWorkerMomentum, lets_the_count_of_updates_begin_anew_with_the_vectors) {
  for (const std::string method : {"local-sgd", "bmuf"}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      TrainingSetting setting;
      setting.communicator = method;
      setting.averaging = {{"tau", "5"}, {"worker-momentum", "reset"}};
      setting.model = "flatten; dense classes";
      setting.rule = "adamw";
      setting.optimizer = {{"adam-epsilon", "1e-12"}};
      setting.rate = {{"lr", "0.001"}};
      setting.samples = 960;
      setting.plan.steps = 10;
      Trained before(transport, setting);
      EXPECT_EQ(*before.replica().optimizer.update_count(), 0);
      setting.plan.steps = 11;
      Trained after(transport, setting);
      const std::vector<float> from = before.parameters(), to = after.parameters();
      double largest = 0;
      for (std::size_t i = 0; i < from.size(); ++i) largest = std::max(largest, std::abs(double{to[i]} - from[i]));
      EXPECT_NEAR(largest, 0.001, 1e-6) << method;
    });
  }
}

}  // namespace
}  // namespace eave
