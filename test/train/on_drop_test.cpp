// Workers begin anew from the center when the learning rate drops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "eave/update_steps.h"
#include "test/train/training.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

std::vector<std::string> resetting_methods() {
  std::vector<std::string> names;
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (kind.traits.resets_to_center) names.push_back(kind.name);
  }
  return names;
}

// A communicator that passes all calls on to another one, and records before which steps workers began anew.
class Watched final : public Communicator {
 public:
  explicit Watched(Communicator& other) : other_(other) {}
  void begin(const ReplicaView& replica) override { other_.begin(replica); }
  void before_gradients(const Step& step) override {
    next_ = step.index + 1;
    other_.before_gradients(step);
  }
  float gradient_weight(const Step& step) const override { return other_.gradient_weight(step); }
  void gradient_ready(Slice part) override { other_.gradient_ready(part); }
  std::optional<Pull> before_update(const Step& step) override { return other_.before_update(step); }
  bool updates(const Step& step) const override { return other_.updates(step); }
  void after_update(const Step& step) override { other_.after_update(step); }
  ConstSlice consensus() override { return other_.consensus(); }
  void reset_to_center(const ReplicaView& replica) override {
    resets.push_back(next_);
    other_.reset_to_center(replica);
  }
  std::vector<Slice> state() override { return other_.state(); }
  void finish() override { other_.finish(); }
  std::string equation() const override { return other_.equation(); }
  CommunicatorCosts costs() const override { return other_.costs(); }

  std::vector<std::int64_t> resets;

 private:
  Communicator& other_;
  std::int64_t next_ = 0;
};

// 12 steps on 3 ranks with 4 steps per epoch. The learning rate drops before steps 4 and 8, counted from 0.
TrainingSetting dropping(const std::string& method, const std::string& factor) {
  TrainingSetting setting;
  setting.communicator = method;
  setting.averaging = frequent_exchanges(method, 3);
  setting.rate = {{"lr", "0.02"}, {"lr-schedule", "step"}, {"lr-step-epochs", "1,2"}, {"lr-step-factor", factor}};
  setting.plan.reset_on_drop = true;
  return setting;
}

std::vector<std::int64_t> resets_of(Transport& transport, const TrainingSetting& setting) {
  Training training(transport, setting);
  Watched watched(training.communicator());
  const TrainingParts all = training.parts();
  const TrainingParts parts{all.replica,  watched,  all.traits,  all.transport,   all.counting,
                            all.schedule, all.data, all.sampler, all.augmentation};
  train(parts, training.plan(), {});
  return watched.resets;
}

class OnDrop : public testing::TestWithParam<std::string> {};

TEST_P(OnDrop, workers_begin_anew_once_for_each_drop_before_its_first_step) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = dropping(GetParam(), "0.1");
    EXPECT_EQ(resets_of(transport, setting), (std::vector<std::int64_t>{4, 8}));
    setting.plan.reset_on_drop = false;
    EXPECT_EQ(resets_of(transport, setting), std::vector<std::int64_t>());
  });
}

// After the drop the learning rate is so small that steps move nothing. So the workers stay where they began anew.
TEST_P(OnDrop, all_replicas_equal_the_consensus) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    for (const bool resets : {true, false}) {
      TrainingSetting setting = dropping(GetParam(), "1e-30");
      setting.plan.steps = 5;
      setting.plan.reset_on_drop = resets;
      Training training(transport, setting);
      const EvaluationRecord record = training.run().evaluation;
      if (resets) {
        EXPECT_LT(record.distance_max, 1e-7);  // not 0, because a mean of equal floats is rounded
      } else {
        EXPECT_GT(record.distance_max, 1e-3);
      }
    }
  });
}

TEST_P(OnDrop, a_run_that_is_resumed_there_has_the_same_bits) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / ("eave-drop-" + identifier(GetParam()));
  std::filesystem::remove_all(directory);
  on_ranks({"threads", 3}, [&](Transport& transport) {
    TrainingSetting setting = dropping(GetParam(), "0.1");
    setting.plan.evaluate_every_steps = 4;
    Training whole(transport, setting);
    whole.run();
    setting.plan.checkpoints.directory = directory;
    setting.plan.steps = 4;
    Training(transport, setting).run();
    setting.plan.first_step = 4;
    setting.plan.steps = 12;
    Training resumed(transport, setting);
    resumed.run();
    EXPECT_EQ(resumed.parameters(), whole.parameters());
    EXPECT_EQ(resumed.center(), whole.center());
  });
  std::filesystem::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(With, OnDrop, testing::ValuesIn(resetting_methods()), in_identifiers);

// A reset sets AdamW's averages to 0. Its count of updates, which corrects their bias, must begin anew, too.
TEST(OnDropWithAdamw, the_first_step_after_is_as_a_runs_first) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = dropping("easgd", "0.1");
    setting.rule = "adamw";
    setting.optimizer = {};
    setting.plan.steps = 7;
    Training training(transport, setting);
    training.run();
    EXPECT_EQ(*training.replica().optimizer.update_count(), 3);
  });
}

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
      Training before(transport, setting);
      before.run();
      EXPECT_EQ(*before.replica().optimizer.update_count(), 0);
      setting.plan.steps = 11;
      Training after(transport, setting);
      after.run();
      const std::vector<float> from = before.parameters(), to = after.parameters();
      double largest = 0;
      for (std::size_t i = 0; i < from.size(); ++i) largest = std::max(largest, std::abs(double{to[i]} - from[i]));
      EXPECT_NEAR(largest, 0.001, 1e-6) << method;
    });
  }
}

}  // namespace
}  // namespace eave
