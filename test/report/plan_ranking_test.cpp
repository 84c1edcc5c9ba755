// Tests how methods of a plan are ranked, and when the plan says that it cannot tell them apart.
#include "report/plan/plan_ranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace eave {
namespace {

constexpr ExchangePattern kSums = ExchangePattern::kGradientSums, kPeriodic = ExchangePattern::kBlockingSums;

PlanRow row_of(int ranks, double milliseconds) {
  PlanRow row;
  row.ranks = ranks;
  row.step_seconds = 1e-3 * milliseconds;
  row.exchange_seconds = row.step_seconds / 4;
  row.samples_per_second = ranks * 32 / row.step_seconds;
  return row;
}

// Steps of 10 ms with 32 samples. Two methods take this long a step on two ranks.
PlanReport report_of(double allreduce_ms, double local_sgd_ms, int ranks = 2) {
  PlanReport report;
  report.run.basis.step_seconds = {{0.010, 0.010}};
  report.run.basis.samples_per_step = 32;
  report.plans.push_back({{.name = "allreduce", .pattern = kSums}, {row_of(ranks, allreduce_ms)}});
  report.plans.push_back({{.name = "local-sgd", .pattern = kPeriodic, .tau = 4}, {row_of(ranks, local_sgd_ms)}});
  return report;
}

TEST(PlanRanking, names_the_first_by_how_much_and_that_it_exceeds_the_error) {
  EXPECT_EQ(ranking_sentences(report_of(40, 10)),
            std::vector<std::string>{
                "on 2 ranks, local-sgd, tau 4 is first (10.0 ms a step, 2.00 times as fast as one rank), "
                "4.0 times as fast as allreduce (40.0 ms); the difference exceeds the model's error of 3 % "
                "and 5 %"});
}

TEST(PlanRanking, does_not_tell_apart_what_the_error_covers) {
  EXPECT_EQ(ranking_sentences(report_of(10, 10.5)),
            std::vector<std::string>{
                "on 2 ranks, allreduce is first (10.0 ms a step, 2.00 times as fast as one rank), 5.0 % faster "
                "than local-sgd, tau 4 (10.5 ms); the difference is within the model's error of 5 % and 3 "
                "%, so the plan does not tell them apart"});
}

TEST(PlanRanking, concludes_in_one_sentence) {
  PlanReport report = report_of(40, 10);
  report.plans[0].rows.push_back(row_of(4, 30));
  report.plans[1].rows.push_back(row_of(4, 20));
  report.plans[0].rows.push_back(row_of(16, 20));
  report.plans[1].rows.push_back(row_of(16, 19.5));
  EXPECT_EQ(ranking_conclusion(report),
            "First by this plan, in time only: local-sgd, tau 4 on 2 and 4 ranks, 300 % and 50 % faster than the next, "
            "which exceeds the model's error; local-sgd, tau 4 and allreduce on 16 ranks are not told apart: 2.6 % is "
            "within the model's error (plans for more than 8 hosts have not been compared with runs)");
  report.plans.pop_back();
  EXPECT_EQ(ranking_conclusion(report), "");
}

TEST(PlanRanking, has_the_fastest_in_the_first_row) {
  const std::string table = ranking_table(report_of(40, 10));
  EXPECT_LT(table.find("local-sgd"), table.find("allreduce")) << table;
  EXPECT_NE(table.find("25.0 %"), std::string::npos) << table;
  EXPECT_NE(table.find("2.00"), std::string::npos) << table;
}

TEST(PlanRanking, says_that_plans_of_many_hosts_are_untried) {
  EXPECT_NE(ranking_table(report_of(40, 10, 64)).find("over 3 %"), std::string::npos);
  EXPECT_NE(ranking_sentences(report_of(40, 10, 64)).front().find("no larger plan has been compared"),
            std::string::npos);
}

TEST(PlanRanking, has_the_worst_error_that_was_measured) {
  std::ifstream file(EAVE_GOLDEN_DIR "/../../../bench/results/2026-11-25-plan-validation.json");
  std::map<std::string, double> worst;
  const auto record = nlohmann::json::parse(file);
  for (const auto& row : record.at("rows")) {
    double& error = worst[row.at("communicator")];
    error = std::max(error, std::abs(row.at("error").get<double>()));
  }
  const auto expect = [&](const char* method, ExchangePattern pattern) {
    EXPECT_DOUBLE_EQ(model_error(pattern), std::ceil(100 * worst.at(method)) / 100) << method;
  };
  expect("allreduce", ExchangePattern::kGradientSums);
  expect("local-sgd", ExchangePattern::kBlockingSums);
  expect("easgd", ExchangePattern::kHiddenSums);
  expect("easgd-tree", ExchangePattern::kTree);
  expect("easgd-async", ExchangePattern::kRequests);
  expect("gossip", ExchangePattern::kPairs);
}

}  // namespace
}  // namespace eave
