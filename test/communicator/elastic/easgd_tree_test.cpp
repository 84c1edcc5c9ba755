// easgd-tree against a simulator in double, and its exchanges on numbers that floats hold exactly.
#include <gtest/gtest.h>

#include "communicator/elastic/easgd_tree_settings.h"
#include "test/communicator/exchanges.h"
#include "test/communicator/group_simulator.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

class EasgdTree : public testing::TestWithParam<Ranks> {};

using Groups = std::vector<std::vector<int>>;

struct Division {
  std::string text;  // as --groups takes it
  Groups groups;
};

// Divisions of `ranks` ranks to test: one group, groups of one rank, equal and unequal groups, with neighbouring ranks
// or not.
std::vector<Division> divisions(int ranks) {
  switch (ranks) {
    case 1:
      return {{"hosts", {{0}}}};
    case 2:
      return {{"hosts", {{0, 1}}}, {"2", {{0}, {1}}}};
    case 3:
      return {{"1", {{0, 1, 2}}}, {"3", {{0}, {1}, {2}}}, {"2", {{0, 1}, {2}}}, {"1,2+0", {{0, 2}, {1}}}};
    default:
      return {{"0-3", {{0, 1, 2, 3}}},
              {"4", {{0}, {1}, {2}, {3}}},
              {"2", {{0, 1}, {2, 3}}},
              {"0+2,1+3", {{0, 2}, {1, 3}}},
              {"3,0-2", {{0, 1, 2}, {3}}}};
  }
}

Given given(const Division& division, const std::string& tau, const std::string& global_tau,
            const std::string& alpha = "0.2", const std::string& global_alpha = "0.15") {
  Given all = {{"groups", division.text}, {"tau", tau}, {"alpha", alpha}, {"allow-unstable", "on"}};
  if (division.groups.size() > 1) {
    all.emplace_back("global-tau", global_tau);
    all.emplace_back("global-alpha", global_alpha);
  }
  return all;
}

// The center of this rank's group. Call it after consensus().
std::vector<float> group_center(Worker& worker) {
  const Slice slice = worker.communicator().state()[1];
  return {slice.begin(), slice.end()};
}

TEST_P(EasgdTree, follows_the_simulator_for_100_steps_in_every_division_of_the_ranks) {
  const std::pair<std::int64_t, std::int64_t> periods[] = {{1, 1}, {1, 2}, {3, 6}, {5, 20}};
  on_ranks(GetParam(), [&](Transport& transport) {
    for (const Division& division : divisions(transport.size())) {
      for (const auto& period : periods) {
        const std::int64_t tau = period.first, global_tau = period.second;
        for (const Problem& problem : group_problems()) {
          SCOPED_TRACE(division.text + ", tau " + std::to_string(tau) + ", global " + std::to_string(global_tau));
          TreeSimulator simulator(problem, transport.size(), division.groups);
          BegunWorker worker(transport, "easgd-tree", given(division, std::to_string(tau), std::to_string(global_tau)),
                             problem);
          const bool is_star = division.groups.size() == 1;
          worker.run(100, [&](std::int64_t t) { simulator.step(t, 0.2, is_star ? 0 : 0.15, tau, global_tau); });
          expect_near(worker.consensus(), is_star ? simulator.centers[0] : simulator.c);
          expect_near(worker.iterate(), simulator.x[me(transport)]);
          expect_near(group_center(worker), simulator.centers[simulator.group_of(transport.rank())]);
          EXPECT_TRUE(same_on_all_ranks(transport, worker.consensus()));
        }
      }
    }
  });
}

TEST(EasgdTreeSimulator, tells_divisions_and_periods_apart_by_far_more_than_the_tolerance_above) {
  std::vector<Doubles> workers;
  for (const Division& division : divisions(4)) {
    for (const std::int64_t global_tau : {2, 6}) {
      TreeSimulator simulator({.learning_rate = 0.05}, 4, division.groups);
      for (std::int64_t t = 0; t < 100; ++t) simulator.step(t, 0.2, 0.15, 2, global_tau);
      workers.push_back(simulator.x[0]);
    }
  }
  expect_apart(workers, 1e-3);
}

TEST_P(EasgdTree, conserves_the_sum_of_workers_group_centers_and_global_center_exactly) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Division& division : divisions(transport.size())) {
      SCOPED_TRACE(division.text);
      const Problem problem{.size = 40};
      Worker worker(transport, "easgd-tree", given(division, "1", "2", "0.25", "0.125"), problem);
      start_at(worker, whole_numbers(transport.rank(), problem.size));
      const std::vector<float> start = worker.x;
      const auto conserved = [&] {
        Doubles sum = sum_with_center(transport, worker);
        if (division.groups.size() == 1) return sum;  // the group's center is the consensus
        const auto centers = gather(transport, group_center(worker));
        for (const auto& group : division.groups) sum = added(sum, centers[static_cast<std::size_t>(group[0])]);
        return sum;
      };
      expect_conserved(worker, conserved);
      EXPECT_NE(worker.x, start);
      EXPECT_NE(worker.consensus(), std::vector<float>(problem.size));
    }
  });
}

TEST_P(EasgdTree, with_one_group_has_the_bits_of_easgd) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Problem& problem : group_problems()) {
      for (const std::string tau : {"1", "3"}) {
        BegunWorker tree(transport, "easgd-tree", {{"groups", "1"}, {"tau", tau}, {"alpha", "0.2"}}, problem, 50);
        BegunWorker star(transport, "easgd", {{"tau", tau}, {"alpha", "0.2"}}, problem, 50);
        EXPECT_EQ(tree.x, star.x);
        EXPECT_EQ(tree.consensus(), star.consensus());
        const std::string card = tree.communicator().equation();
        EXPECT_TRUE(says(card, "this is --communicator easgd --alpha 0.2 --tau " + tau));
      }
    }
  });
}

TEST_P(EasgdTree, without_pull_between_levels_is_an_easgd_in_each_group) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.05, .uneven = true};
    for (const Division& division : divisions(transport.size())) {
      if (division.groups.size() == 1) continue;
      TreeSimulator simulator(problem, transport.size(), division.groups);
      BegunWorker worker(transport, "easgd-tree", given(division, "3", "300"), problem, 100);
      for (std::int64_t t = 0; t < 100; ++t) simulator.step(t, 0.2, 0, 3, 300);
      EXPECT_EQ(worker.consensus(), problem.start());
      expect_near(worker.x, simulator.x[me(transport)]);
    }
  });
}

TEST_P(EasgdTree, has_the_same_bits_with_overlap_off_and_when_it_is_asked_for_its_center) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Division& division : divisions(transport.size())) {
      std::vector<std::vector<float>> parameters, consensus;
      for (const std::string overlap : {"on", "off", "asked"}) {
        Given all = given(division, "2", "4");
        all.emplace_back("overlap", overlap == "off" ? "off" : "on");
        BegunWorker worker(transport, "easgd-tree", all, {.size = 1000, .momentum = 0.9, .uneven = true});
        for (int step = 0; step < 30; ++step) {
          worker.step();
          if (overlap == "asked" && step % 3 != 0) worker.consensus();
        }
        worker.communicator().finish();
        parameters.push_back(worker.x);
        consensus.push_back(worker.consensus());
      }
      for (const std::size_t other : {1u, 2u}) {
        EXPECT_EQ(parameters[0], parameters[other]) << division.text;
        EXPECT_EQ(consensus[0], consensus[other]) << division.text;
      }
    }
  });
}

TEST_P(EasgdTree, resumes_between_any_exchanges_with_the_same_bits) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.momentum = 0.9, .uneven = true};
    for (const Division& division : divisions(transport.size())) {
      const Given all = given(division, "3", "6");
      for (const std::int64_t at : {1, 4, 7, 8}) {
        SCOPED_TRACE(division.text);
        expect_to_resume(transport, "easgd-tree", all, problem, 20, at);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, EasgdTree, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
