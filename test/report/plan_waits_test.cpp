// Tests plans of ranks that wait for each exchange, and of fewer ranks than were measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "report/plan/plan_simulation.h"
#include "report/plan/plan_text.h"
#include "test/report/simulations.h"

namespace eave {
namespace {

PlanMethod waiting_tree() {
  PlanMethod method{.name = "easgd-tree", .pattern = ExchangePattern::kTree, .tau = 2, .global_tau = 6};
  let_wait(method, "--overlap off");
  return method;
}

// The first rank of a group also waits for the exchange between groups, and its group for it at the next exchange.
TEST(PlanOfWaits, in_a_tree_adds_both_exchanges_to_computing) {
  const PeriodTimes times({Seconds(100, 1.0)}, 1);
  EXPECT_NEAR(simulate_tree(times, 8, {4, 5, 0.5, 0.25, true}), 1.5 + 0.25 / 5, 1e-2);
  EXPECT_NEAR(simulate_tree(times, 8, {4, 1, 0.8, 0.7, true}), 2.5, 1e-2);
}

// Plays 4 hosts with 2 ranks each, rank by rank.
TEST(PlanOfWaits, in_a_tree_is_that_of_ranks_played_one_by_one) {
  const PlanBasis basis = measured(8, 1.3);
  const PlanNetwork network{.bytes_per_second = 2e8, .host_bytes_per_second = 1e9, .ranks_per_host = 2};
  const double within = sum_flat(network, 2, basis.sum_bytes).seconds,
               between = sum_between_hosts(network, 4, basis.sum_bytes).seconds;
  std::mt19937_64 random(5);
  Seconds at(8, 0.0);
  constexpr int kExchanges = 3000;
  for (int k = 0; k < kExchanges; ++k) {
    for (int rank = 0; rank < 8; ++rank) at[static_cast<std::size_t>(rank)] += computing(basis, rank, 2, random);
    double all = 0;
    for (std::size_t host = 0; host < 4; ++host) {
      at[2 * host] = at[2 * host + 1] = std::max(at[2 * host], at[2 * host + 1]) + within;
      all = std::max(all, at[2 * host]);
    }
    for (std::size_t host = 0; host < 4 && k % 3 == 0; ++host) at[2 * host] = all + between;
  }
  double mean = 0;
  for (const double each : at) mean += each / 8;
  const PlanRow row = predict(basis, network, waiting_tree(), 8);
  expect_within(row.step_seconds, mean / kExchanges / 2, 0.03, "a tree that waits");
  PlanMethod hidden = waiting_tree();
  hidden.waits_with.clear();
  EXPECT_GT(row.step_seconds, 1.1 * predict(basis, network, hidden, 8).step_seconds);
}

TEST(PlanOfWaits, in_a_tree_of_one_host_is_that_of_blocking_sums) {
  const PlanBasis basis = measured(4);
  const PlanNetwork network{.ranks_per_host = 8};
  const PlanMethod sums{.name = "local-sgd", .pattern = ExchangePattern::kBlockingSums, .tau = 2};
  EXPECT_DOUBLE_EQ(predict(basis, network, waiting_tree(), 4).step_seconds,
                   predict(basis, network, sums, 4).step_seconds);
}

std::string assumptions_for(int ranks, double slow) {
  PlanReport report;
  report.run.basis = measured(4, slow);
  report.run.workers = report.run.ranks = report.run.hosts = 4;
  const PlanMethod method{.name = "easgd", .pattern = ExchangePattern::kHiddenSums, .tau = 2};
  report.plans = {{method, {predict(report.run.basis, report.network, method, ranks)}}};
  std::string all;
  for (const std::string& sentence : plan_assumptions(report)) all += sentence + "\n";
  return all;
}

TEST(PlanOfFewerRanks, says_which_slow_rank_it_leaves_out) {
  const std::string said = "on up to 2 ranks, easgd run on the first ranks of the run, without rank 3";
  EXPECT_NE(assumptions_for(2, 4).find(said), std::string::npos) << assumptions_for(2, 4);
  EXPECT_EQ(assumptions_for(2, 1).find("without rank"), std::string::npos);
  EXPECT_EQ(assumptions_for(4, 4).find("without rank"), std::string::npos);
}

}  // namespace
}  // namespace eave
