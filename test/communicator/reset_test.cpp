// Communicator::reset_to_center: workers begin anew from the center, for example when the learning rate drops.
#include <gtest/gtest.h>

#include <type_traits>

#include "averaging_simulator.h"
#include "every_communicator.h"
#include "group_simulator.h"
#include "simulator.h"
#include "test/communicator/center/downpour_simulator.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

std::vector<std::string> resetting_methods() {
  std::vector<std::string> names;
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (kind.traits.resets_to_center) names.push_back(kind.name);
  }
  return names;
}

class Reset : public testing::TestWithParam<Ranks> {};

// 25 steps are no multiple of tau = 3, so exchanges are pending and workers have taken local steps since the last one.
TEST_P(Reset, of_every_method_leaves_all_replicas_at_the_consensus_and_at_rest) {
  for (const std::string& method : resetting_methods()) {
    for (const std::int64_t steps : {24, 25, 26}) {
      on_ranks(GetParam(), [&](Transport& transport) {
        SCOPED_TRACE(method + " after " + std::to_string(steps));
        BegunWorker worker(transport, method, frequent_exchanges(method, transport.size()),
                           {.momentum = 0.9, .nesterov = true}, steps);
        const std::vector<float> before = worker.consensus();
        worker.reset_to_center();
        EXPECT_EQ(worker.x, before);
        EXPECT_EQ(worker.consensus(), before);
        worker.communicator().forget_consensus();  // gossip keeps the one from before, and a mean of thirds is rounded
        expect_near(worker.consensus(), {before.begin(), before.end()}, 1e-6);
        EXPECT_TRUE(same_on_all_ranks(transport, worker.x));
        for (const Slice vector : worker.optimizer_state()) {
          EXPECT_EQ(std::vector<float>(vector.begin(), vector.end()), std::vector<float>(vector.size()));
        }
        worker.communicator().finish();
      });
    }
  }
}

// Resets take place between exchanges, at t = 40, and right after or right before one, at t = 66. Compares float with
// double at values of order 1. An outer momentum keeps each rounding error for several exchanges.
template <typename Twin, typename TwinStep, typename TwinReset>
void expect_followed(const Ranks& ranks, const std::string& method, const Given& given, bool nesterov,
                     const TwinStep& step, const TwinReset& reset) {
  on_ranks(ranks, [&](Transport& transport) {
    SCOPED_TRACE(method + (given.empty() ? "" : " " + given.back().second) + (nesterov ? ", nesterov" : ""));
    const Problem problem{
        .learning_rate = 0.02, .momentum = 0.8, .nesterov = nesterov, .uneven = true, .network = true};
    Twin twin(problem, transport.size());
    BegunWorker worker(transport, method, given, problem);
    for (std::int64_t t = 0; t < 100; ++t) {
      if (t == 40 || t == 66) {
        worker.reset_to_center();
        reset(twin);
      }
      worker.step();
      step(twin, t);
    }
    const Doubles& x = twin.x[me(transport)];
    expect_near(std::is_same_v<Twin, AveragingSimulator> ? worker.x : worker.iterate(), x, 3e-5);
    if (method != "local-sgd") expect_near(worker.consensus(), twin.c, 3e-5);
    worker.communicator().finish();
  });
}

constexpr auto kToCenter = [](auto& twin) { twin.reset_to_center(); };

TEST_P(Reset, of_easgd_follows_the_simulator) {
  for (const bool nesterov : {false, true}) {
    for (const std::string order : {"paper", "after-step"}) {
      expect_followed<Simulator>(
          GetParam(), "easgd", {{"tau", "3"}, {"alpha", "0.125"}, {"order", order}}, nesterov,
          [&](Simulator& twin, std::int64_t t) { twin.elastic_step(t, order, 0.125, 0, 3); }, kToCenter);
    }
    expect_followed<Simulator>(
        GetParam(), "easgd", {{"tau", "3"}, {"alpha", "0.25"}, {"beta", "0.5"}, {"order", "center-first"}}, nesterov,
        [](Simulator& twin, std::int64_t t) { twin.elastic_step(t, "center-first", 0.25, 0.5, 3); }, kToCenter);
  }
}

TEST_P(Reset, of_asynchronous_methods_in_turns_follows_the_simulator) {
  const Given in_turns = {{"async-order", "round-robin"}, {"shard-bytes", "64"}, {"tau", "3"}};
  Given elastic = in_turns;
  elastic.emplace_back("alpha", "0.125");
  for (const bool nesterov : {false, true}) {
    expect_followed<Simulator>(
        GetParam(), "easgd-async", elastic, nesterov,
        [](Simulator& twin, std::int64_t t) { twin.round_robin_step(t, 0.125, 3); }, kToCenter);
    expect_followed<DownpourSimulator>(
        GetParam(), "downpour", in_turns, nesterov,
        [](DownpourSimulator& twin, std::int64_t t) { twin.push_step(t, 3, 0); },
        [](DownpourSimulator& twin) {
          twin.reset_to_center();
          twin.pulled = twin.x;
        });
  }
}

TEST_P(Reset, of_a_tree_with_a_group_for_each_rank_follows_the_simulator) {
  if (GetParam().count == 1) GTEST_SKIP() << "one group is easgd";
  const Given given = {{"groups", std::to_string(GetParam().count)},
                       {"tau", "3"},
                       {"global-tau", "6"},
                       {"alpha", "0.2"},
                       {"global-alpha", "0.15"}};
  struct Tree : TreeSimulator {
    static std::vector<std::vector<int>> alone(int ranks) {
      std::vector<std::vector<int>> groups;
      for (int rank = 0; rank < ranks; ++rank) groups.push_back({rank});
      return groups;
    }
    Tree(const Problem& problem_, int ranks) : TreeSimulator(problem_, ranks, alone(ranks)) {}
  };
  expect_followed<Tree>(
      GetParam(), "easgd-tree", given, false, [](Tree& twin, std::int64_t t) { twin.step(t, 0.2, 0.15, 3, 6); },
      [](Tree& twin) {
        twin.reset_to_center();
        twin.centers.assign(twin.centers.size(), twin.c);
      });
}

TEST_P(Reset, of_local_sgd_follows_the_simulator) {
  for (const bool nesterov : {false, true}) {
    for (const std::string momentum : {"local", "average", "reset"}) {
      expect_followed<AveragingSimulator>(
          GetParam(), "local-sgd", {{"tau", "3"}, {"worker-momentum", momentum}}, nesterov,
          [&](AveragingSimulator& twin, std::int64_t t) { twin.local_sgd_step(t, 3, momentum); },
          [](AveragingSimulator& twin) { twin.reset_to_mean(); });
    }
  }
}

TEST_P(Reset, of_outer_methods_follows_the_simulator) {
  for (const bool ahead : {false, true}) {
    expect_followed<AveragingSimulator>(
        GetParam(), "bmuf",
        {{"tau", "3"}, {"block-momentum", "0.5"}, {"block-rate", "0.8"}, {"block-nesterov", ahead ? "on" : "off"}},
        false, [&](AveragingSimulator& twin, std::int64_t t) { twin.bmuf_step(t, 3, 0.5, 0.8, ahead, "local"); },
        kToCenter);
  }
  expect_followed<AveragingSimulator>(
      GetParam(), "slowmo", {{"tau", "3"}, {"slowmo-momentum", "0.5"}, {"worker-momentum", "local"}}, false,
      [](AveragingSimulator& twin, std::int64_t t) { twin.slowmo_step(t, 3, 0.5, 1, "local"); }, kToCenter);
  expect_followed<AveragingSimulator>(
      GetParam(), "diloco", {{"tau", "3"}, {"outer-rate", "0.7"}, {"outer-momentum", "0.5"}}, false,
      [](AveragingSimulator& twin, std::int64_t t) { twin.diloco_step(t, 3, 0.7, 0.5, "local"); }, kToCenter);
}

// A reset forgets the losses since the last exchange, so tau adapts as in a run that begins at the reset.
TEST_P(Reset, of_adaptive_local_sgd_forgets_the_losses_since_the_last_exchange) {
  on_ranks(GetParam(), [](Transport& transport) {
    std::vector<std::string> taus;
    for (const bool resets : {false, true}) {
      Worker worker(transport, "local-sgd", {{"tau", "4"}, {"adaptive-tau", "on"}}, {.learning_rate = 0.05});
      worker.begin();
      worker.run(6);  // two steps into the second period
      if (resets) worker.reset_to_center();
      const Slice kept = worker.communicator().state()[1];
      taus.push_back(bytes_of({kept.begin(), kept.end()}));
    }
    EXPECT_NE(taus[0], taus[1]);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Reset, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
