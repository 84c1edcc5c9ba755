// A run that ends at an accuracy is the run of so many steps.
#include <algorithm>

#include "test/train/training.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

TrainingSetting evaluated_often(const std::string& communicator) {
  TrainingSetting setting;
  setting.communicator = communicator;
  if (communicator != "allreduce" && communicator != "none") setting.averaging = {{"tau", "2"}};
  setting.plan.steps = 36;
  setting.plan.evaluate_every_steps = 3;
  return setting;
}

class Stop : public testing::TestWithParam<std::string> {};

TEST_P(Stop, comes_with_the_first_evaluation_that_is_accurate_enough) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = evaluated_often(GetParam());
    Training whole(transport, setting);
    whole.run();
    // The best of all but the last, and where it came first.
    const auto end = whole.evaluations.end() - 1;
    const auto best = std::ranges::max_element(whole.evaluations.begin(), end, {},
                                               [](const EvaluationRecord& each) { return each.center.accuracy; });
    setting.plan.stop_at_accuracy = best->center.accuracy;
    Training stopped(transport, setting);
    const TrainingResult result = stopped.run();
    EXPECT_EQ(result.progress.steps, best->step);
    EXPECT_EQ(result.evaluation.step, best->step);
    EXPECT_EQ(result.evaluation.center.accuracy, best->center.accuracy);
    setting.plan.stop_at_accuracy = 0;
    setting.plan.steps = best->step;
    Training brief(transport, setting);
    brief.run();
    EXPECT_EQ(stopped.center(), brief.center());
    EXPECT_EQ(stopped.parameters(), brief.parameters());
  });
}

TEST_P(Stop, does_not_come_where_the_accuracy_is_never_reached) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = evaluated_often(GetParam());
    setting.plan.stop_at_accuracy = 2;
    Training training(transport, setting);
    EXPECT_EQ(training.run().progress.steps, 36);
  });
}

INSTANTIATE_TEST_SUITE_P(With, Stop,
                         testing::Values("allreduce", "local-sgd", "slowmo", "easgd", "easgd-tree", "gossip", "none"),
                         in_identifiers);

// Its numbers depend on timing: what holds is that nobody is left waiting.
TEST(StopWithAnAsynchronousCenter, ends_all_ranks_at_the_same_step) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = evaluated_often("easgd-async");
    setting.plan.stop_at_accuracy = 1e-9;
    Training training(transport, setting);
    EXPECT_EQ(training.run().progress.steps, 3);
  });
}

}  // namespace
}  // namespace eave
