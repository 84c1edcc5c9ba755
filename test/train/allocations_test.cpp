// A training step allocates nothing after the first step of its batch size.
#include <gtest/gtest.h>

#include <vector>

#include "test/train/large_allocations.h"
#include "test/train/training.h"

namespace eave {
namespace {

TEST(LargeAllocations, are_seen_whoever_asks) {
  const long before = large_allocations();
  const std::vector<char> one(5000);
  const Buffer two(5000);
  EXPECT_GE(large_allocations() - before, 2);
}

class Allocations : public testing::TestWithParam<std::string> {};

// Each kind of layer with a workspace is in one of the models. There are two epochs, each of which ends with a smaller
// batch; the plan for this batch is made in the first epoch. The last step is left out, because an evaluation follows
// it.
TEST_P(Allocations, of_4_KiB_or_more_are_not_made_by_steps_of_the_second_epoch) {
  for (const char* model :
       {"conv2d 8 3x3 pad 1; relu; max_pool 2; flatten; dense 64; relu; dropout 0.5; dense classes",
        "conv2d 8 3x3 no_bias; batch_norm; relu; residual(conv2d 8 3x3 pad 1; batch_norm); relu; average_pool 2; "
        "global_pool; dense classes"}) {
    std::vector<long> after(2);
    on_ranks({"threads", 2}, [&](Transport& transport) {
      TrainingSetting setting;
      setting.model = model;
      setting.communicator = GetParam();
      setting.averaging = frequent_exchanges(GetParam());
      setting.samples = 197;  // 12 steps of 16 and one of 5 an epoch
      setting.batch = 8;
      setting.plan.steps = 26;
      Training training(transport, setting);
      training.at_step = [&](const StepRecord& step) {
        if (step.step != 13 && step.step != 25) return;
        transport.all_gather("all are here");
        if (transport.rank() == 0) after[step.step == 25] = large_allocations();
        transport.all_gather("go on");
      };
      training.steps.reserve(26);
      training.run();
    });
    EXPECT_GT(after[0], 0);
    EXPECT_EQ(after[1] - after[0], 0) << model;
  }
}

INSTANTIATE_TEST_SUITE_P(With, Allocations, testing::ValuesIn(communicator_names(2)), in_identifiers);

}  // namespace
}  // namespace eave
