// gossip against a simulator in double, and its exchanges on numbers that floats hold exactly.
#include <gtest/gtest.h>

#include <algorithm>

#include "communicator/elastic/gossip_settings.h"
#include "test/communicator/exchanges.h"
#include "test/communicator/group_simulator.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

class Gossip : public testing::TestWithParam<Ranks> {};

constexpr std::uint64_t kSeed = 3;  // the seed that a Worker gives its communicator

struct GossipWay {
  Given given;
  double alpha;
};

std::vector<GossipWay> ways() {
  return {{{{"gossip", "average"}}, 0.5},
          {{{"gossip", "elastic"}, {"alpha", "0.2"}}, 0.2},
          {{{"gossip", "elastic"}}, 0.45}};
}

Given with_tau(Given given, std::int64_t tau) {
  given.emplace_back("tau", std::to_string(tau));
  return given;
}

std::vector<std::pair<int, int>> pairs_at(std::int64_t t, std::int64_t tau, int ranks) {
  if (t == 0 || t % tau != 0) return {};
  return gossip_pairs(kSeed, t / tau, ranks);
}

TEST_P(Gossip, follows_the_simulator_for_100_steps_both_ways) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const GossipWay& way : ways()) {
      for (const std::int64_t tau : {1, 3, 10}) {
        for (const Problem& problem : group_problems()) {
          SCOPED_TRACE("alpha " + std::to_string(way.alpha) + ", tau " + std::to_string(tau));
          GossipSimulator simulator(problem, transport.size());
          BegunWorker worker(transport, "gossip", with_tau(way.given, tau), problem);
          worker.run(100, [&](std::int64_t t) { simulator.step(t, pairs_at(t, tau, transport.size()), way.alpha); });
          expect_near(worker.iterate(), simulator.x[me(transport)]);
          if (!problem.nesterov) expect_near(worker.consensus(), simulator.mean());
        }
      }
    }
  });
}

TEST(GossipSimulator, tells_ways_pairs_and_periods_apart_by_far_more_than_the_tolerance_above) {
  std::vector<Doubles> workers;
  for (const double alpha : {0.2, 0.45, 0.5}) {
    for (const std::int64_t tau : {1, 3}) {
      for (const int shift : {0, 1}) {  // 1: with the pairs of the next round
        GossipSimulator simulator({.learning_rate = 0.05}, 4);
        for (std::int64_t t = 0; t < 100; ++t) {
          simulator.step(t, t % tau == 0 ? gossip_pairs(kSeed, t / tau + shift, 4) : pairs_at(0, 1, 4), alpha);
        }
        workers.push_back(simulator.x[0]);
      }
    }
  }
  expect_apart(workers, 1e-3);
}

TEST_P(Gossip, conserves_the_sum_of_the_workers_exactly) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Given& way : {Given{{"gossip", "average"}}, Given{{"gossip", "elastic"}, {"alpha", "0.125"}}}) {
      BegunWorker worker(transport, "gossip", with_tau(way, 1), {.size = 40});
      std::ranges::copy(whole_numbers(transport.rank(), worker.x.size()), worker.x.begin());
      const std::vector<float> start = worker.x;
      const Doubles before = sum_of_all(transport, worker.x);
      bool moved = false;
      // The values have 7 bits. Each exchange adds up to 3 bits, and a float has 24, so four exchanges are exact.
      for (std::int64_t t = 1; t <= 4; ++t) {
        exchange(worker, t);
        EXPECT_EQ(sum_of_all(transport, worker.x), before) << "step " << t;
        moved = moved || worker.x != start;
      }
      // If there are three ranks, each one is in a pair in at least one of two rounds.
      EXPECT_EQ(moved, transport.size() > 1);
    }
  });
}

TEST_P(Gossip, makes_both_of_a_pair_their_mean_and_leaves_the_others_alone) {
  on_ranks(GetParam(), [](Transport& transport) {
    BegunWorker worker(transport, "gossip", {{"gossip", "average"}, {"tau", "1"}}, {.size = 1});
    for (std::int64_t t = 1; t <= 12; ++t) {
      const auto value = [](int rank) { return static_cast<float>(16 * rank * rank); };
      worker.x = {value(transport.rank())};
      exchange(worker, t);
      float expected = value(transport.rank());
      for (const auto& [a, b] : gossip_pairs(kSeed, t, transport.size())) {
        if (a == transport.rank() || b == transport.rank()) expected = (value(a) + value(b)) / 2;
      }
      EXPECT_EQ(worker.x[0], expected) << t;
    }
  });
}

TEST_P(Gossip, elastic_with_alpha_one_half_has_the_bits_of_averaging) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.momentum = 0.9, .uneven = true};
    BegunWorker average(transport, "gossip", {{"tau", "3"}}, problem, 40);
    BegunWorker elastic(transport, "gossip", {{"tau", "3"}, {"gossip", "elastic"}, {"alpha", "0.5"}}, problem, 40);
    EXPECT_EQ(average.x, elastic.x);
  });
}

TEST_P(Gossip, averages_two_ranks_as_local_sgd_does_after_its_step) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() > 2) return;  // a pair holds all ranks only if there are two
    // Gossip averages the values from before the step: x_i <- mean - step_i(x_i). local-sgd steps first, then averages.
    // If the exchange has no step, both give the same: gossip's at t = tau is local-sgd's of step tau - 1.
    const Problem problem{.learning_rate = 0.05, .momentum = 0.9};
    BegunWorker gossip(transport, "gossip", {{"tau", "5"}}, problem, 5),
        local(transport, "local-sgd", {{"tau", "5"}}, problem, 5);
    EXPECT_EQ(gossip.consensus(), local.consensus());
    exchange(gossip, 5);
    for (std::size_t k = 0; k < problem.size; ++k) EXPECT_NEAR(gossip.x[k], local.x[k], 1e-6);
  });
}

TEST_P(Gossip, alone_trains_as_a_worker_without_averaging) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.momentum = 0.9, .uneven = true};
    BegunWorker gossip(transport, "gossip", {{"tau", "1"}}, problem, 30), none(transport, "none", {}, problem, 30);
    EXPECT_EQ(gossip.x == none.x, transport.size() == 1);
  });
}

TEST_P(Gossip, evaluates_the_mean_of_the_workers_and_leaves_them_alone) {
  on_ranks(GetParam(), [](Transport& transport) {
    BegunWorker worker(transport, "gossip", {{"tau", "3"}}, {.momentum = 0.9, .uneven = true});
    for (int round = 0; round < 8; ++round) {
      worker.run(2);
      const std::vector<float> x = worker.x, consensus = worker.consensus();
      EXPECT_EQ(worker.x, x);
      EXPECT_TRUE(same_on_all_ranks(transport, consensus));
      const Doubles sum = sum_of_all(transport, x);
      for (std::size_t k = 0; k < sum.size(); ++k) {
        EXPECT_NEAR(consensus[k], sum[k] / transport.size(), 1e-5);
      }
    }
  });
}

TEST_P(Gossip, resumes_anywhere_with_the_same_bits) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.momentum = 0.9, .nesterov = true, .uneven = true};
    for (const std::int64_t at : {1, 2, 3, 7}) expect_to_resume(transport, "gossip", {{"tau", "2"}}, problem, 20, at);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Gossip, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
