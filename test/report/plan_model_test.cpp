// Compares the model of `eave plan` with simulations that use none of its formulas. They play ranks, links and messages
// one by one.
#include "report/plan/plan_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "report/plan/plan_simulation.h"
#include "test/report/simulations.h"

namespace eave {
namespace {

// Plays an all-reduce among ranks that start at the given times, each on its own host. Every rank sends every other
// rank its part, adds up what has come, and sends the result to all. Returns the time at which the last rank has all
// results.
double simulated_sum(const Seconds& starts, double bytes, const PlanNetwork& network) {
  const std::size_t p = starts.size();
  const double message = std::max(bytes / static_cast<double>(p) / network.bytes_per_second, network.message_seconds);
  std::vector<Link> out(p), in(p);
  Seconds ready = starts;
  for (int phase = 0; phase < 2; ++phase) {
    Seconds arrived(p, 0.0);
    for (std::size_t step = 1; step < p; ++step) {
      for (std::size_t rank = 0; rank < p; ++rank) {
        const std::size_t peer = (rank + step) % p;
        const double left = out[rank].send(ready[rank], message) + network.delay_seconds;
        arrived[peer] = std::max(arrived[peer], in[peer].send(left - message, message));
      }
    }
    for (std::size_t rank = 0; rank < p; ++rank) ready[rank] = std::max(ready[rank], arrived[rank]);
  }
  return *std::ranges::max_element(ready);
}

TEST(PlanTimes, has_the_longest_of_many_by_order_statistics) {
  const PlanBasis basis = measured(3, 1.05);
  for (const std::int64_t tau : {1, 5}) {
    const PeriodTimes times(basis.step_seconds, tau);
    for (const int ranks : {3, 12, 96, 768}) {
      std::mt19937_64 random(3);
      double sum = 0;
      constexpr int kRounds = 2000;
      for (int round = 0; round < kRounds; ++round) {
        double longest = 0;
        for (int rank = 0; rank < ranks; ++rank) longest = std::max(longest, computing(basis, rank, tau, random));
        sum += longest;
      }
      expect_within(times.expected_longest(ranks), sum / kRounds, 0.005, std::to_string(ranks));
    }
  }
}

TEST(PlanTimes, of_one_rank_is_its_mean_exactly) {
  const PeriodTimes times({{1, 2, 3, 6}}, 1);
  EXPECT_DOUBLE_EQ(times.expected_longest(1), 3);
  EXPECT_DOUBLE_EQ(times.mean(), 3);
  EXPECT_DOUBLE_EQ(PeriodTimes({{1, 2, 3, 6}}, 2).mean(), 6);
  EXPECT_NEAR(times.expected_longest(1000000), 6, 1e-9);
}

TEST(PlanTimes, of_two_ranks_that_differ_has_each_once) {
  EXPECT_DOUBLE_EQ(PeriodTimes({{1, 1}, {4, 2}}, 1).expected_longest(2), 3);
}

// Needs at least as many ranks as were measured. With fewer, the model uses a part of each measured rank, but the
// simulation would use only the first ones.
void expect_periodic_as_simulated(const PlanBasis& basis, const PlanNetwork& network, int ranks) {
  std::mt19937_64 random(5);
  constexpr std::int64_t kTau = 5, kRounds = 200;
  double simulated = 0;
  for (std::int64_t round = 0; round < kRounds; ++round) {
    Seconds starts;
    for (int rank = 0; rank < ranks; ++rank) starts.push_back(computing(basis, rank, kTau, random));
    simulated += simulated_sum(starts, basis.sum_bytes, network);
  }
  const PlanMethod method{.name = "local-sgd", .pattern = ExchangePattern::kBlockingSums, .tau = kTau};
  const PlanRow row = predict(basis, network, method, ranks);
  expect_within(row.step_seconds, simulated / kTau / kRounds, 0.03, std::to_string(ranks));
}

TEST(PlanModel, of_methods_that_meet_is_that_of_messages_simulated_one_by_one) {
  for (const double rate : {1.25e8, 2e7}) {
    const PlanNetwork network{.bytes_per_second = rate, .delay_seconds = 1e-4};
    for (const int ranks : {2, 8, 64}) expect_periodic_as_simulated(measured(2), network, ranks);
    for (const int ranks : {4, 64}) expect_periodic_as_simulated(measured(4, 1.5), network, ranks);
  }
}

// Plays ranks that compute on while their exchange is under way. They wait for it when the next exchange is due.
// Returns seconds per step.
double simulated_elastic(const PlanBasis& basis, const PlanNetwork& network, int ranks, std::int64_t tau) {
  constexpr int kRounds = 600;
  std::mt19937_64 random(9);
  Seconds at(static_cast<std::size_t>(ranks), 0.0);
  for (int round = 0; round < kRounds; ++round) {
    const double done = simulated_sum(at, basis.sum_bytes, network);
    for (int rank = 0; rank < ranks; ++rank) {
      double& t = at[static_cast<std::size_t>(rank)];
      t = std::max(t + computing(basis, rank, tau, random), done);
    }
  }
  return *std::ranges::max_element(at) / kRounds / static_cast<double>(tau);
}

TEST(PlanModel, of_easgd_hides_the_exchange_as_far_as_messages_simulated_one_by_one_do) {
  const PlanBasis basis = measured(4, 1.2);
  for (const double rate : {1e9, 2e8, 5e7}) {
    const PlanNetwork network{.bytes_per_second = rate, .delay_seconds = 1e-4};
    for (const int ranks : {4, 32}) {
      const PlanMethod method{.name = "easgd", .pattern = ExchangePattern::kHiddenSums, .tau = 4};
      expect_within(predict(basis, network, method, ranks).step_seconds, simulated_elastic(basis, network, ranks, 4),
                    0.03, std::to_string(ranks) + " ranks at " + std::to_string(rate));
    }
  }
}

// Plays one center rank that answers waiting workers one after another.
double simulated_center(const PlanBasis& basis, const PlanNetwork& network, int workers, std::int64_t tau) {
  std::mt19937_64 random(11);
  const double transfer = basis.parameter_bytes / network.bytes_per_second;
  Link replies;
  using Request = std::pair<double, int>;
  std::vector<Request> requests;
  const auto later = std::greater<>();
  const auto compute = [&](double from, int worker) {
    requests.emplace_back(from + computing(basis, worker, tau, random), worker);
    std::ranges::push_heap(requests, later);
  };
  for (int worker = 0; worker < workers; ++worker) compute(0, worker);
  constexpr int kExchanges = 20000;
  double now = 0;
  for (int i = 0; i < kExchanges; ++i) {
    std::ranges::pop_heap(requests, later);
    const auto [asked, worker] = requests.back();
    requests.pop_back();
    now = replies.send(asked + network.delay_seconds, transfer) + network.delay_seconds;
    compute(now, worker);
  }
  return now / kExchanges * workers / static_cast<double>(tau);
}

TEST(PlanModel, of_a_full_or_an_idle_center_is_that_of_workers_simulated_one_by_one) {
  const PlanBasis basis = measured(2);
  const PlanNetwork network{.bytes_per_second = 1e9, .delay_seconds = 1e-4};
  const PlanMethod method{.name = "downpour", .pattern = ExchangePattern::kRequests, .tau = 4, .center_ranks = 1};
  for (const int workers : {1, 2, 32, 128}) {
    const PlanRow row = predict(basis, network, method, workers + 1);
    expect_within(row.step_seconds, simulated_center(basis, network, workers, 4), 0.03, std::to_string(workers));
    EXPECT_EQ(row.bound, workers >= 32 ? PlanBound::kCenter : PlanBound::kNetwork);
  }
}

TEST(PlanModel, of_gossip_is_that_of_pairs_simulated_one_by_one) {
  const PlanBasis basis = measured(4);
  const PlanNetwork network{.bytes_per_second = 2.5e8, .delay_seconds = 1e-4};
  const double exchange = 2 * 1e-4 + 4e6 / 2.5e8;
  const int ranks = 16;
  std::mt19937_64 random(13);
  Seconds at(ranks, 0.0);
  std::vector<std::size_t> order(ranks);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    std::ranges::shuffle(order, random);
    for (std::size_t i = 0; i < order.size(); i += 2) {
      const double met = std::max(at[order[i]], at[order[i + 1]]) + exchange;
      for (const std::size_t rank : {order[i], order[i + 1]}) {
        at[rank] = std::max(at[rank] + computing(basis, static_cast<int>(rank), 1, random), met);
        at[rank] += computing(basis, static_cast<int>(rank), 1, random);
      }
    }
  }
  const PlanMethod method{.name = "gossip", .pattern = ExchangePattern::kPairs, .tau = 2};
  const double simulated = *std::ranges::max_element(at) / kRounds / 2;
  expect_within(predict(basis, network, method, ranks).step_seconds, simulated, 0.03, "16 ranks");
}

TEST(PlanModel, of_the_tree_crosses_the_network_less_often) {
  const PlanBasis basis = measured(4);
  PlanNetwork network{.bytes_per_second = 1.25e8, .ranks_per_host = 8};
  const PlanMethod tree{.name = "easgd-tree", .pattern = ExchangePattern::kTree, .tau = 2, .global_tau = 20};
  const PlanMethod flat{.name = "easgd", .pattern = ExchangePattern::kHiddenSums, .tau = 2, .sums_by_host = false};
  const PlanMethod by_host{.name = "easgd", .pattern = ExchangePattern::kHiddenSums, .tau = 2};
  const PlanRow of_tree = predict(basis, network, tree, 64), of_flat = predict(basis, network, flat, 64),
                of_host = predict(basis, network, by_host, 64);
  EXPECT_DOUBLE_EQ(of_tree.link_bytes, 2 * 7.0 / 8 * 4e6 / 20);
  EXPECT_DOUBLE_EQ(of_host.link_bytes, 2 * 7.0 / 8 * 4e6 / 2);
  EXPECT_DOUBLE_EQ(of_flat.link_bytes, 8 * of_host.link_bytes);
  EXPECT_LT(of_tree.step_seconds, of_host.step_seconds);
  EXPECT_LT(of_host.step_seconds, of_flat.step_seconds);
  EXPECT_EQ(of_flat.bound, PlanBound::kNetwork);
}

TEST(PlanModel, of_compressed_sums_adds_up_nothing_within_hosts) {
  PlanBasis basis = measured(4);
  const PlanNetwork network{.bytes_per_second = 1.25e8, .ranks_per_host = 8};
  for (const ExchangePattern pattern :
       {ExchangePattern::kGradientSums, ExchangePattern::kBlockingSums, ExchangePattern::kHiddenSums}) {
    const PlanMethod method{.name = "any", .pattern = pattern};
    basis.is_sum_compressed = false;
    EXPECT_DOUBLE_EQ(predict(basis, network, method, 64).link_bytes, 2 * 7.0 / 8 * 4e6);
    basis.is_sum_compressed = true;
    EXPECT_DOUBLE_EQ(predict(basis, network, method, 64).link_bytes, 2 * 8 * 56.0 / 64 * 4e6);
  }
}

// Four hosts have four ranks each. After every second exchange within a host, the first ranks of all hosts exchange.
TEST(PlanModel, of_the_tree_is_that_of_messages_simulated_one_by_one) {
  const PlanBasis basis = measured(4, 1.1);
  const PlanNetwork network{
      .bytes_per_second = 3e8, .delay_seconds = 1e-4, .host_bytes_per_second = 6e8, .ranks_per_host = 4},
      within{.bytes_per_second = 6e8, .delay_seconds = 0};
  std::mt19937_64 random(17);
  std::vector<Seconds> at(4, Seconds(4, 0.0));
  double between_done = 0;
  constexpr int kRounds = 1000;
  for (int round = 0; round < kRounds; ++round) {
    Seconds done;
    for (Seconds& host : at) {
      Seconds starts = host;
      for (double& start : starts) start = std::max(start, between_done);
      done.push_back(simulated_sum(starts, basis.sum_bytes, within));
    }
    if (round % 2 == 0) between_done = simulated_sum(done, basis.sum_bytes, network);
    for (std::size_t host = 0; host < 4; ++host) {
      for (std::size_t rank = 0; rank < 4; ++rank) {
        double& t = at[host][rank];
        t = std::max(t + computing(basis, static_cast<int>(rank), 2, random), done[host]);
      }
    }
  }
  const PlanMethod method{.name = "easgd-tree", .pattern = ExchangePattern::kTree, .tau = 2, .global_tau = 4};
  expect_within(predict(basis, network, method, 16).step_seconds, at[0][0] / kRounds / 2, 0.03, "16 ranks");
}

// All steps take the same time. Once in `ratio` exchanges, the group of a host's first rank waits for both exchanges.
TEST(PlanModel, of_the_tree_waits_for_what_does_not_fit_behind_computing) {
  const PeriodTimes times({Seconds(100, 1.0)}, 1);
  EXPECT_NEAR(simulate_tree(times, 8, {4, 5, 0.5, 0.25}), 1, 1e-9);
  EXPECT_NEAR(simulate_tree(times, 8, {4, 1, 0.8, 0.7}), 1.5, 1e-2);
  EXPECT_NEAR(simulate_elastic(times, 8, 3), 3, 1e-9);
}

TEST(PlanModel, of_allreduce_hides_all_but_the_last_bucket_at_most) {
  PlanBasis basis = measured(1);
  basis.step_seconds = {Seconds(100, 0.1)};
  basis.parameter_bytes = basis.sum_bytes = 8 * 131072.0;  // 8 buckets of 32 Ki values
  const PlanMethod method{.name = "allreduce", .pattern = ExchangePattern::kGradientSums};
  const PlanNetwork fast{.bytes_per_second = 1048576 / 0.04, .delay_seconds = 0, .message_seconds = 0},
      slow{.bytes_per_second = 1048576 / 0.4, .delay_seconds = 0, .message_seconds = 0};
  EXPECT_NEAR(predict(basis, fast, method, 2).step_seconds, 0.1 + 0.04 / 8, 1e-9);
  EXPECT_NEAR(predict(basis, slow, method, 2).step_seconds, 0.1 + 0.4 - 0.05, 1e-9);
  EXPECT_DOUBLE_EQ(predict(basis, slow, method, 2).bytes_per_rank, 1048576);
}

// The last bucket cannot be hidden, and it is a larger part of the gradients if there are fewer buckets.
TEST(PlanModel, of_allreduce_has_as_many_buckets_as_the_gradients_whatever_the_codec) {
  PlanBasis basis = measured(1);
  basis.step_seconds = {Seconds(100, 0.1)};
  basis.parameter_bytes = 8 * 131072.0;
  basis.sum_bytes = basis.parameter_bytes / 32;  // compressed to less than a bucket
  const PlanMethod method{.name = "allreduce", .pattern = ExchangePattern::kGradientSums};
  const PlanNetwork network{.bytes_per_second = basis.sum_bytes / 0.04, .delay_seconds = 0, .message_seconds = 0};
  EXPECT_NEAR(predict(basis, network, method, 2).step_seconds, 0.1 + 0.04 / 8, 1e-9);
  basis.bucket_bytes = 4 * 131072.0;
  EXPECT_NEAR(predict(basis, network, method, 2).step_seconds, 0.1 + 0.04 / 2, 1e-9);
}

// The first step is slow, as on a busy machine. If the model counted it in the mean but not in what it plays, its ranks
// would be too fast.
TEST(PlanModel, of_ranks_that_exchange_for_nothing_is_no_faster_than_ranks_alone) {
  const PlanNetwork free{.bytes_per_second = 1e18,
                         .delay_seconds = 0,
                         .host_bytes_per_second = 1e18,
                         .message_seconds = 0,
                         .ranks_per_host = 2};
  for (const std::size_t steps : {12u, 40u, 400u}) {
    PlanBasis basis = measured(2, 1.5, steps);
    for (Seconds& seconds : basis.step_seconds) seconds.front() *= 30;
    for (const ExchangePattern kind :
         {ExchangePattern::kGradientSums, ExchangePattern::kBlockingSums, ExchangePattern::kHiddenSums,
          ExchangePattern::kTree, ExchangePattern::kRequests, ExchangePattern::kPairs}) {
      const PlanMethod method{.name = "any", .pattern = kind, .tau = 10, .global_tau = 100};
      for (const int ranks : {2, 3, 4, 64, 512}) {
        const PlanRow row = predict(basis, free, method, ranks);
        EXPECT_LE(row.efficiency, 1) << steps << " steps, " << ranks << " ranks, kind " << static_cast<int>(kind);
        const PeriodTimes times(basis.step_seconds, 1);
        const bool is_simulated =
            kind == ExchangePattern::kHiddenSums || kind == ExchangePattern::kTree || kind == ExchangePattern::kPairs;
        EXPECT_GE(row.step_seconds * (1 + 1e-9), is_simulated ? times.mean_of_ranks(ranks) : times.mean())
            << steps << " steps, " << ranks << " ranks, kind " << static_cast<int>(kind);
      }
    }
  }
}

TEST(PlanTimes, each_step_counts_alike_in_what_is_drawn) {
  const std::vector<Seconds> seconds = {{100, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  const PeriodTimes times(seconds, 3);
  std::mt19937_64 random(1);
  double sum = 0;
  constexpr int kDraws = 120'000;
  for (int i = 0; i < kDraws; ++i) sum += times.draw(0, random);
  expect_within(sum / kDraws, times.mean(), 0.01, "the mean of draws");
}

TEST(PlanModel, names_messages_where_they_cost_more_than_their_bytes) {
  const PlanBasis basis = measured(1);
  const PlanMethod method{.name = "local-sgd", .pattern = ExchangePattern::kBlockingSums};
  const PlanRow row = predict(basis, {.bytes_per_second = 1.25e9}, method, 4096);
  EXPECT_EQ(row.bound, PlanBound::kMessages);
  EXPECT_NEAR(row.exchange_seconds, 2 * 4095 * 5e-6 + 1e-4, 1e-6);
}

TEST(PlanModel, of_one_rank_and_of_ranks_alone_is_what_was_measured) {
  const PlanBasis basis = measured(1);
  const PlanMethod alone{.name = "none"}, allreduce{.name = "allreduce", .pattern = ExchangePattern::kGradientSums};
  const double mean = PeriodTimes(basis.step_seconds, 1).mean();
  EXPECT_DOUBLE_EQ(predict(basis, {}, allreduce, 1).step_seconds, mean);
  const PlanRow many = predict(basis, {}, alone, 4096);
  EXPECT_DOUBLE_EQ(many.step_seconds, mean);
  EXPECT_DOUBLE_EQ(many.efficiency, 1);
  EXPECT_EQ(many.bound, PlanBound::kCompute);
}

}  // namespace
}  // namespace eave
