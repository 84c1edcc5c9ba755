// A run's counters go on over all resumptions.
#include <cmath>

#include "checkpoint/checkpoint_directory.h"
#include "test/temporary_directory.h"
#include "test/train/training.h"
#include "train/loop/budget.h"
#include "train/saving/checkpoint_load.h"

namespace eave {
namespace {

using Kind = InjectedFault::Kind;

TrainingSetting saving(const TemporaryDirectory& temporary, std::int64_t steps, TrainingSetting setting = {}) {
  setting.plan.steps = steps;
  setting.plan.checkpoints = {.directory = temporary.path() / "checkpoint", .every_steps = 1, .kept = 100};
  return setting;
}

// The fault is in step 5, and records are written after steps 4 and 8. So a run that resumes from step 6 must count it
// in its first record.
TEST(ResumedCounts, of_steps_left_out_go_on) {
  const TemporaryDirectory temporary;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting = saving(temporary, 12, setting_with("easgd"));
    setting.plan.log_every_steps = 4;
    setting.plan.evaluate_every_steps = 100;
    if (transport.rank() == 1) setting.plan.fault = {Kind::kNanLoss, 4, 0, 0};
    Training(transport, setting).run();
    setting.plan.first_step = 6;
    Training resumed(transport, setting);
    EXPECT_EQ(resumed.run().progress.nonfinite, transport.rank());
    ASSERT_EQ(resumed.steps.size(), 2u);
    EXPECT_EQ(resumed.steps[0].step, 8);
    EXPECT_EQ(resumed.steps[0].nonfinite, transport.rank());
    EXPECT_EQ(resumed.steps[1].nonfinite, 0);
  });
}

TEST(ResumedCounts, of_steps_in_a_row_reach_the_limit) {
  const TemporaryDirectory temporary;
  std::int64_t last = 0;
  const auto run = [&](std::int64_t first_step) {
    const EndedJob ended = run_job(1, [&](Transport& transport) {
      TrainingSetting setting = saving(temporary, 30);
      setting.plan.first_step = first_step;
      setting.plan.nonfinite_limit = 3;
      Training training(transport, setting);
      training.at_step = [&](const StepRecord& step) {
        last = step.step;
        const auto place = static_cast<std::size_t>(training.model().parameters().back().offset);
        if (step.step == 4) training.replica().parameters.slice()[place] = std::nanf("");
      };
      training.run();
    });
    return ended.code;
  };
  EXPECT_EQ(run(0), 76);
  EXPECT_EQ(last, 7);
  EXPECT_EQ(run(5), 76);
  EXPECT_EQ(last, 7) << "step 5 was the first of three";
}

TEST(ResumedCounts, of_repairs_go_on) {
  const TemporaryDirectory temporary;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    TrainingSetting setting = saving(temporary, 12);
    setting.plan.replica_hash_every = 2;
    setting.plan.on_replica_fault = OnReplicaFault::kRepair;
    if (transport.rank() == 1) setting.plan.fault = {Kind::kFlippedBit, 2, 3, 20};
    Training(transport, setting).run();
    setting.plan.first_step = 8;
    EXPECT_EQ(Training(transport, setting).run().progress.repaired, 1);
  });
}

TEST(ResumedCounts, with_fewer_ranks_lose_nothing) {
  const TemporaryDirectory temporary;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    TrainingSetting setting = saving(temporary, 6);
    setting.communicator = "none";
    setting.plan.fault = {Kind::kNanLoss, transport.rank(), 0, 0};
    Training(transport, setting).run();
  });
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting = saving(temporary, 12);
    setting.communicator = "none";
    setting.plan.elastic_step = 6;
    setting.plan.first_step = 9;
    EXPECT_EQ(Training(transport, setting).run().progress.nonfinite, transport.rank() == 0 ? 2 : 1);
  });
}

// A run that was killed right after its last checkpoint, before it wrote anything else.
class EndedEarly : public testing::TestWithParam<std::string> {};

TEST_P(EndedEarly, ends_again_and_trains_no_step) {
  const TemporaryDirectory temporary;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting = saving(temporary, 40, setting_with(GetParam(), 2));
    setting.plan.checkpoints.every_steps = 0;
    setting.plan.stop_after_seconds = 1e-6;
    setting.plan.ask_every_steps = 5;
    Trained first(transport, setting);
    const TrainingResult& ended = first.result;
    EXPECT_EQ(ended.progress.steps, 5);
    const Manifest manifest = read_manifest(setting.plan.checkpoints.directory, 5);
    const auto reached = reached_in(manifest.notes.at(kEnded));
    ASSERT_TRUE(reached);
    EXPECT_TRUE(is_enough(setting.plan, *reached));
    setting.plan.first_step = 5;
    setting.plan.has_ended = true;
    Trained again(transport, setting);
    const TrainingResult& result = again.result;
    EXPECT_EQ(result.progress.steps, 5);
    EXPECT_TRUE(again.steps.empty());
    EXPECT_EQ(again.center(), first.center());
    EXPECT_EQ(result.evaluation.center.loss, ended.evaluation.center.loss);
  });
}

INSTANTIATE_TEST_SUITE_P(With, EndedEarly, testing::ValuesIn(communicator_names(2)), in_identifiers);

TEST(Reached, is_read_as_it_was_written_and_judged_by_what_is_asked_for) {
  const auto read = reached_in(to_text({0.9, 12.5, 3e9, 1.75}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->accuracy, 0.9);
  EXPECT_EQ(read->seconds, 12.5);
  EXPECT_EQ(read->bytes, 3e9);
  EXPECT_EQ(read->loss, 1.75);
  const auto old = reached_in("accuracy 0.9, seconds 12.5, bytes 3000000000");
  ASSERT_TRUE(old) << "of a checkpoint without a loss";
  EXPECT_EQ(old->bytes, 3e9);
  for (const char* text : {"", "accuracy", "accuracy nan, seconds 1, bytes 1", "accuracy 0.9, seconds 1"}) {
    EXPECT_FALSE(reached_in(text)) << text;
  }
  TrainingPlan plan;
  EXPECT_FALSE(is_enough(plan, *read)) << "nothing is asked for";
  plan.stop_at_accuracy = 0.9;
  EXPECT_TRUE(is_enough(plan, *read));
  plan = {};
  plan.stop_at_loss = 1.75;
  EXPECT_TRUE(is_enough(plan, *read));
  EXPECT_FALSE(is_enough(plan, *old)) << "its loss is not known";
  EXPECT_FALSE(is_budget_spent(plan, *read));
  plan = {};
  plan.stop_after_seconds = 13;
  EXPECT_FALSE(is_enough(plan, *read));
  plan.stop_after_bytes = 2'000'000'000;
  EXPECT_TRUE(is_enough(plan, *read));
}

}  // namespace
}  // namespace eave
