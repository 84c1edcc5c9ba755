// Conditions that stop a run early: accuracy, bytes, seconds, divergence. A stopped run equals a run of that many
// steps.
#include <algorithm>
#include <cmath>

#include "eave/agreement.h"
#include "test/train/training.h"

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
    Trained whole(transport, setting);
    // The first evaluation that has the best accuracy of all but the last evaluation.
    const auto end = whole.evaluations.end() - 1;
    const auto best = std::ranges::max_element(whole.evaluations.begin(), end, {},
                                               [](const EvaluationRecord& each) { return each.center.accuracy; });
    setting.plan.stop_at_accuracy = best->center.accuracy;
    Trained stopped(transport, setting);
    const TrainingResult& result = stopped.result;
    EXPECT_EQ(result.progress.steps, best->step);
    EXPECT_EQ(result.evaluation.step, best->step);
    EXPECT_EQ(result.evaluation.center.accuracy, best->center.accuracy);
    setting.plan.stop_at_accuracy = 0;
    setting.plan.steps = best->step;
    Trained brief(transport, setting);
    EXPECT_EQ(stopped.center(), brief.center());
    EXPECT_EQ(stopped.parameters(), brief.parameters());
  });
}

TEST_P(Stop, does_not_come_where_the_accuracy_is_never_reached) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = evaluated_often(GetParam());
    setting.plan.stop_at_accuracy = 2;
    EXPECT_EQ(Training(transport, setting).run().progress.steps, 36);
  });
}

INSTANTIATE_TEST_SUITE_P(With, Stop,
                         testing::Values("allreduce", "local-sgd", "slowmo", "easgd", "easgd-tree", "gossip", "none"),
                         in_identifiers);

TEST(StopAfterBytes, comes_where_ranks_next_ask_past_them) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = evaluated_often("allreduce");
    const std::int64_t bytes = Training(transport, setting).run().progress.bytes;
    setting.plan.stop_after_bytes = bytes / 2;  // about 18 of 36 steps; the start of a run sends bytes, too
    setting.plan.evaluate_every_steps = 0;
    setting.plan.ask_every_steps = 2;
    Trained stopped(transport, setting);
    const TrainingProgress& progress = stopped.result.progress;
    EXPECT_GE(progress.bytes, bytes / 2);
    EXPECT_GE(progress.steps, 16);
    EXPECT_LE(progress.steps, 18);
    ASSERT_EQ(stopped.evaluations.size(), 1u) << "at the end";
    EXPECT_EQ(stopped.evaluations[0].step, progress.steps);
    std::int64_t told = 0;
    for (const StepRecord& record : stopped.steps) EXPECT_EQ(record.step, ++told) << "each step once";
  });
}

// A run that stops early must evaluate the model that it saves, as at the regular end.
TEST(StopAfterBytes, evaluates_what_a_method_makes_at_its_end) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = evaluated_often("none");
    setting.averaging = {{"average-at-end", "on"}};
    setting.plan.stop_after_seconds = 1e-9;
    setting.plan.ask_every_steps = 5;
    Trained stopped(transport, setting);
    EXPECT_EQ(stopped.result.progress.steps, 5);
    setting.plan.stop_after_seconds = 0;
    setting.plan.steps = 5;
    Trained brief(transport, setting);
    EXPECT_EQ(stopped.evaluations.back().center.loss, brief.evaluations.back().center.loss);
    EXPECT_EQ(stopped.center(), brief.center());
  });
}

// The ranks' times differ. All ranks end after the same step, once some rank has trained for the given time.
TEST(StopAfterSeconds, is_agreed_on) {
  for (const std::string communicator : {"allreduce", "easgd", "easgd-async"}) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      TrainingSetting setting = evaluated_often(communicator);
      setting.plan.steps = 30000;
      setting.plan.stop_after_seconds = 0.1;
      if (transport.rank() == 1) setting.plan.slow_factor = 5;
      const TrainingProgress progress = Training(transport, setting).run().progress;
      EXPECT_LT(progress.steps, 30000);
      const std::vector<double> sum =
          sum_over_ranks(transport, {static_cast<double>(progress.steps), progress.seconds >= 0.1 ? 1.0 : 0.0});
      EXPECT_EQ(sum[0], 3 * static_cast<double>(progress.steps));
      EXPECT_GE(sum[1], 1);
    });
  }
}

// After the divergence the ranks can begin another training.
TEST(Divergence, of_one_rank_ends_all_with_the_next_evaluation_where_that_is_asked_for) {
  for (const std::string communicator : {"none", "local-sgd", "easgd", "easgd-async", "downpour", "gossip"}) {
    on_ranks({"threads", 3}, [&](Transport& transport) {
      TrainingSetting setting = evaluated_often(communicator);
      setting.plan.diverges_together = true;
      {
        Training training(transport, setting);
        training.at_step = [&](const StepRecord&) {
          const auto of_last_layer = static_cast<std::size_t>(training.model().parameters().back().offset);
          if (transport.rank() == 1) training.replica().parameters.slice()[of_last_layer] = std::nanf("");
        };
        try {
          training.run();
          ADD_FAILURE() << communicator << " went on";
        } catch (const AgreedError& error) {
          EXPECT_EQ(error.code(), ExitCode::kDiverged) << communicator;
          EXPECT_NE(std::string(error.what()).find("diverged"), std::string::npos) << error.what();
        }
      }
      EXPECT_EQ(Training(transport, setting).run().progress.steps, 36);
    });
  }
}

// The results of easgd-async depend on timing. So the test only checks that all ranks end and none is left waiting.
TEST(StopWithAnAsynchronousCenter, ends_all_ranks_at_the_same_step) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = evaluated_often("easgd-async");
    setting.plan.stop_at_accuracy = 1e-9;
    EXPECT_EQ(Training(transport, setting).run().progress.steps, 3);
  });
}

std::vector<std::int64_t> steps_of(const std::vector<EvaluationRecord>& evaluations) {
  std::vector<std::int64_t> steps;
  for (const EvaluationRecord& each : evaluations) steps.push_back(each.step);
  return steps;
}

TEST(Evaluations, are_spread_evenly_over_the_steps) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting = evaluated_often("allreduce");
    Trained often(transport, setting);
    setting.plan.evaluate_every_steps = 0;
    setting.plan.evaluations = 10;
    Trained spread(transport, setting);
    EXPECT_EQ(steps_of(spread.evaluations), std::vector<std::int64_t>({4, 8, 11, 15, 18, 22, 26, 29, 33, 36}));
    EXPECT_EQ(spread.center(), often.center()) << "evaluations change nothing";
    setting.plan.steps = 3;
    Trained brief(transport, setting);
    EXPECT_EQ(steps_of(brief.evaluations), std::vector<std::int64_t>({1, 2, 3}));
  });
}

// The ranks would compare their bytes only every 100 steps by themselves.
TEST(Evaluations, are_spread_over_the_bytes_that_limit_a_run) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    TrainingSetting setting = evaluated_often("allreduce");
    const std::int64_t bytes = Training(transport, setting).run().progress.bytes;
    setting.plan.stop_after_bytes = bytes / 2;  // about 18 of 36 steps
    setting.plan.evaluate_every_steps = 0;
    setting.plan.evaluations = 5;
    setting.plan.ask_every_steps = 100;
    Trained stopped(transport, setting);
    const std::vector<std::int64_t> steps = steps_of(stopped.evaluations);
    ASSERT_EQ(steps.size(), 5u);
    EXPECT_LE(steps.back(), 20);
    for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_NEAR(static_cast<double>(steps[i] - steps[i - 1]), 3.6, 1.6);
  });
}

}  // namespace
}  // namespace eave
