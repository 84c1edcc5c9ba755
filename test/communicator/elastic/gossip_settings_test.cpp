// gossip: which pairs of workers exchange, and how large alpha may be.
#include "communicator/elastic/gossip_settings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "eave/check.h"
#include "test/communicator/exchanges.h"
#include "test/communicator/told.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

TEST(GossipPairs, have_every_rank_once_and_with_an_odd_number_all_but_one) {
  for (const int ranks : {1, 2, 3, 4, 5, 8, 33, 256}) {
    for (std::int64_t round = 0; round < 50; ++round) {
      std::set<int> met;
      const Pairs pairs = gossip_pairs(1, round, ranks);
      for (const auto& [a, b] : pairs) {
        EXPECT_LT(a, b);
        EXPECT_GE(a, 0);
        EXPECT_LT(b, ranks);
        met.insert({a, b});
      }
      EXPECT_EQ(pairs.size(), static_cast<std::size_t>(ranks / 2));
      EXPECT_EQ(met.size(), 2 * pairs.size());
    }
  }
}

TEST(GossipPairs, are_the_same_whenever_they_are_drawn_and_others_for_another_seed_or_round) {
  std::set<Pairs> seen;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (std::int64_t round = 0; round < 8; ++round) {
      const Pairs pairs = gossip_pairs(seed, round, 32);
      EXPECT_EQ(pairs, gossip_pairs(seed, round, 32));
      seen.insert(pairs);
    }
  }
  EXPECT_EQ(seen.size(), 64u);
}

TEST(GossipPairs, of_six_ranks_are_each_of_the_fifteen_pairings_equally_often) {
  std::map<std::set<std::pair<int, int>>, int> counts;
  constexpr int kRounds = 15000;
  for (int round = 0; round < kRounds; ++round) {
    const Pairs pairs = gossip_pairs(5, round, 6);
    ++counts[{pairs.begin(), pairs.end()}];
  }
  ASSERT_EQ(counts.size(), 15u);
  double chi_squared = 0;
  for (const auto& [pairing, count] : counts) chi_squared += std::pow(count - 1000, 2) / 1000;
  EXPECT_LT(chi_squared, 36.1);  // with 14 degrees of freedom, random draws exceed it once in a thousand
}

TEST(GossipPairs, of_five_ranks_let_each_pause_once_in_five_rounds_in_changing_order) {
  std::set<std::vector<int>> orders;
  std::map<std::pair<int, int>, int> met;
  for (int cycle = 0; cycle < 1000; ++cycle) {
    std::vector<int> pausing;
    for (int k = 0; k < 5; ++k) {
      std::set<int> rest = {0, 1, 2, 3, 4};
      for (const auto& [a, b] : gossip_pairs(9, 5 * cycle + k, 5)) {
        rest.erase(a);
        rest.erase(b);
        ++met[{a, b}];
      }
      ASSERT_EQ(rest.size(), 1u);
      pausing.push_back(*rest.begin());
    }
    orders.insert(pausing);
    EXPECT_EQ(std::set<int>(pausing.begin(), pausing.end()).size(), 5u);
  }
  EXPECT_EQ(orders.size(), 120u);
  ASSERT_EQ(met.size(), 10u);
  // 130 is 4.5 standard deviations of a binomial distribution with probability 1/5.
  for (const auto& [pair, count] : met) EXPECT_NEAR(count, 1000, 130);
}

TEST(GossipPairs, are_drawn_alike_by_all_ranks_of_a_run_from_its_seed) {
  for (const std::uint64_t seed : {3u, 4u}) {
    for (const int count : {3, 4}) {
      on_ranks({"threads", count}, [&](Transport& transport) {
        const CommunicatorKind& kind = find_kind(communicator_kinds(), "gossip");
        const OptionValues values = values_of(kind.options, {{"tau", "2"}});
        std::vector<std::string> warnings;
        std::vector<float> x(1), g(1);
        const auto communicator = kind.make({transport, values, 0.1, warnings, 0, 0, seed});
        communicator->begin({x, g, {}, {}});
        for (std::int64_t t = 0; t < 20; ++t) {
          const auto value = [](int rank) { return static_cast<float>(std::pow(16, rank)); };
          x = {value(transport.rank())};
          communicator->before_gradients({t, 1, count, 0.1});
          const auto pull = communicator->before_update({t, 1, count, 0.1});
          float expected = 0;
          for (const auto& [a, b] : gossip_pairs(seed, t / 2, count)) {
            if (a == transport.rank() || b == transport.rank()) expected = (value(a) + value(b)) / 2;
          }
          if (t == 0 || t % 2 == 1) expected = 0;
          EXPECT_EQ(pull ? pull->center[0] : 0, expected) << t;
        }
      });
    }
  }
}

TEST(GossipOptions, that_cannot_be_are_refused_on_all_ranks_with_what_would_be_right) {
  const auto refuses = [](const Given& given, const std::string& words) { expect_refused("gossip", 3, given, words); };
  refuses({{"alpha", "0.3"}}, "--alpha 0.3 (command line): has no effect with --gossip average");
  refuses({{"allow-unstable", "on"}}, "--allow-unstable on (command line): has no effect with --gossip average");
  refuses({{"gossip", "elastic"}, {"alpha", "0"}}, "--alpha 0 (command line): expected a number above 0");
  refuses({{"gossip", "elastic"}, {"alpha", "-0.1"}}, "expected a number above 0");
  refuses({{"gossip", "elastic"}, {"alpha", "nan"}}, "alpha");
  refuses({{"gossip", "push"}}, "elastic");
  refuses({{"tau", "0"}}, "tau");
}

std::vector<std::string> warnings_of(int ranks, const Given& given, std::int64_t steps = 0) {
  return told("gossip", ranks, given, {.steps = steps}).warnings;
}

TEST(GossipOptions, beyond_the_bound_or_without_an_exchange_warn) {
  EXPECT_TRUE(warnings_of(2, {}, 11).empty());
  EXPECT_TRUE(warnings_of(2, {{"gossip", "elastic"}, {"alpha", "0.99"}}).empty());
  EXPECT_TRUE(says(warnings_of(2, {{"gossip", "elastic"}, {"alpha", "1"}}).at(0), "alpha must be below 1"));
  EXPECT_TRUE(warnings_of(2, {{"gossip", "elastic"}, {"alpha", "1"}, {"allow-unstable", "on"}}).empty());
  EXPECT_TRUE(says(warnings_of(2, {}, 10).at(0), "no exchange will take place"));
  EXPECT_TRUE(warnings_of(1, {}, 10).empty());
}

// Collective. Trains on h x²/2 with elastic gossip; q = learning rate times h. Rank 0 begins at 1, and the others begin
// so that the sum of all ranks is 0. Returns the largest |x| of all ranks at the end. On a flat loss all ranks would
// meet at 0, too.
double distance_after(Transport& transport, double alpha, std::int64_t tau, double q, std::int64_t exchanges) {
  Worker worker(
      transport, "gossip",
      {{"gossip", "elastic"}, {"tau", std::to_string(tau)}, {"alpha", std::to_string(alpha)}, {"allow-unstable", "on"}},
      {.size = 1});
  start_at(worker, {transport.rank() == 0 ? 1.0f : -1.0f / static_cast<float>(transport.size() - 1)});
  for (std::int64_t t = 1; t <= exchanges * tau; ++t) {
    const Step step{t, 1, transport.size(), 1};
    const float move = static_cast<float>(q) * worker.x[0];
    worker.communicator().before_gradients(step);
    if (const auto pull = worker.communicator().before_update(step)) cpu_device().pull_parameters(worker.x, *pull);
    worker.x[0] -= move;
  }
  double largest = 0;
  for (const auto& x : gather(transport, worker.x)) largest = std::max<double>(largest, std::abs(x[0]));
  return largest;
}

TEST(GossipStability, of_one_pair_turns_where_the_bound_says) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    for (const std::int64_t tau : {1, 3}) {
      for (const double q : {0.0, 0.2, 0.5}) {
        const double limit = stable_gossip_alpha(tau, q);
        SCOPED_TRACE("tau " + std::to_string(tau) + " q " + std::to_string(q));
        EXPECT_LT(distance_after(transport, 0.97 * limit, tau, q, 400), 0.1);
        EXPECT_GT(distance_after(transport, 1.03 * limit, tau, q, 400), 10);
      }
    }
  });
}

TEST(GossipStability, of_changing_pairs_is_assured_inside_and_gone_well_outside) {
  for (const int ranks : {3, 4}) {
    on_ranks({"threads", ranks}, [](Transport& transport) {
      EXPECT_LT(distance_after(transport, 0.97, 1, 0, 400), 0.1);
      EXPECT_LT(distance_after(transport, 0.97 * stable_gossip_alpha(1, 0.5), 1, 0.5, 400), 0.1);
      EXPECT_GT(distance_after(transport, 1.5, 1, 0, 60), 10);  // with more exchanges, floats would overflow
    });
  }
}

TEST(GossipStability, is_alpha_below_one_on_every_nearly_flat_loss_and_tighter_on_curvature_only_at_tau_one) {
  for (const std::int64_t tau : {1, 2, 10}) {
    EXPECT_EQ(stable_gossip_alpha(tau, 0), 1);
    for (const double q : {0.1, 0.5, 0.9}) EXPECT_EQ(stable_gossip_alpha(tau, q) < 1, tau == 1);
  }
  EXPECT_DOUBLE_EQ(stable_gossip_alpha(1, 0.5), 0.75);
}

}  // namespace
}  // namespace eave
