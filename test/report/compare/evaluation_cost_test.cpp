#include "report/compare/evaluation_cost.h"

#include <gtest/gtest.h>

namespace eave {
namespace {

RunRecord run_of(double training, double each, std::size_t evaluations) {
  RunRecord run;
  run.end = RunEnd::kFinished;
  run.summary.emplace().seconds = training;
  run.evaluations.resize(evaluations);
  for (EvaluationPoint& point : run.evaluations) point.record.evaluation_seconds = each;
  return run;
}

TEST(EvaluationCost, is_the_share_of_the_whole_time_with_its_range) {
  EXPECT_EQ(evaluation_cost({run_of(9, 0.1, 10)}), "Evaluations took 1.0 s besides, 10.0 % of the whole time.");
  EXPECT_EQ(evaluation_cost({run_of(9, 0.1, 10), run_of(19, 0.5, 2)}),
            "Evaluations took 2.0 s besides, 6.7 % of the whole time (5.0 to 10.0 % of a run).");
}

TEST(EvaluationCost, is_not_told_if_it_is_small_or_no_run_finished) {
  EXPECT_EQ(evaluation_cost({}), "");
  EXPECT_EQ(evaluation_cost({run_of(1000, 0.5, 10)}), "");
  EXPECT_EQ(evaluation_cost({run_of(0, 0, 0)}), "");
  RunRecord interrupted = run_of(9, 0.1, 10);
  interrupted.end = RunEnd::kInterrupted;
  EXPECT_EQ(evaluation_cost({interrupted}), "");
}

}  // namespace
}  // namespace eave
