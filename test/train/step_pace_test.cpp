// StepPace makes steps take at least a given time. Tests check only lower bounds: sleep is never shorter than asked
// for, but a busy machine may make it longer.
#include <gtest/gtest.h>

#include "test/train/training.h"
#include "train/loop/fault_injection.h"

namespace eave {
namespace {

constexpr double kSeconds = 0.06;

TEST(StepPace, gives_the_forward_pass_a_third_and_every_gradient_its_part_of_the_rest) {
  StepPace pace(kSeconds, 100);
  for (int step = 0; step < 2; ++step) {
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / kSeconds;
    };
    pace.begin();
    pace.ready(25);
    EXPECT_GE(passed(), 0.499);
    pace.ready(50);
    EXPECT_GE(passed(), 0.832);
    pace.end();
    EXPECT_GE(passed(), 0.999);
  }
}

TEST(StepPace, makes_steps_longer_and_changes_no_bit) {
  for (const std::string communicator : {"allreduce", "easgd"}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      TrainingSetting setting = setting_with(communicator);
      setting.plan.steps = 4;
      Trained usual(transport, setting);
      setting.plan.computing_seconds = kSeconds;
      Trained slow(transport, setting);
      ASSERT_EQ(slow.steps.size(), 4u);
      for (const StepRecord& step : slow.steps) EXPECT_GE(step.computing, 0.99 * kSeconds) << step.step;
      EXPECT_EQ(slow.parameters(), usual.parameters());
    });
  }
}

}  // namespace
}  // namespace eave
