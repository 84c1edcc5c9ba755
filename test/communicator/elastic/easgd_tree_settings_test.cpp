// easgd-tree: its options, card, warnings and limits of stability.
#include "communicator/elastic/easgd_tree_settings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "eave/check.h"
#include "test/communicator/exchanges.h"
#include "test/communicator/group_simulator.h"
#include "test/communicator/told.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// easgd-tree on ranks of one host.
Told tree_told(int ranks, const Given& given, std::int64_t steps = 0) {
  return told("easgd-tree", ranks, given, {.steps = steps});
}

TEST(EasgdTreeOptions, that_cannot_be_are_refused_on_all_ranks_with_what_would_be_right) {
  const struct {
    Given given;
    std::string message;
  } table[] = {
      {{{"groups", "0-1"}}, "--groups 0-1 (command line): rank 2 is in no group; ranks are 0 to 3"},
      {{{"groups", "0-1,1-3"}}, "rank 1 is listed twice"},
      {{{"groups", "0+0,1-3"}}, "rank 0 is listed twice"},
      {{{"groups", "0-1,,2-3"}}, "group 2 is empty"},
      {{{"groups", "0-3,"}}, "group 2 is empty"},
      {{{"groups", ""}}, "group 1 is empty"},
      {{{"groups", "0-1,2-4"}}, "there is no rank 4; ranks are 0 to 3"},
      {{{"groups", "0-2000000000"}}, "there is no rank 4"},
      {{{"groups", "1-0,2-3"}}, "runs backwards; write 0-1"},
      {{{"groups", "0-1-2,3"}}, "\"0-1-2\" is no rank; expected hosts, a number of groups, or a list"},
      {{{"groups", "0+,1-3"}}, "\"\" is no rank"},
      {{{"groups", "host"}}, "\"host\" is no rank; expected hosts"},
      {{{"groups", "99999999999"}}, "is no rank"},
      {{{"groups", "0"}}, "expected from 1 to 4 groups"},
      {{{"groups", "5"}}, "expected from 1 to 4 groups"},
      {{{"groups", "2"}, {"tau", "0"}}, "tau"},
      {{{"groups", "2"}, {"tau", "3"}, {"global-tau", "10"}}, "expected a multiple of --tau 3"},
      {{{"groups", "2"}, {"tau", "3"}, {"global-tau", "2"}}, "3 would be right"},
      {{{"groups", "2"}, {"alpha", "0"}}, "--alpha 0 (command line): expected a number above 0"},
      {{{"groups", "2"}, {"alpha", "nan"}}, "alpha"},
      {{{"groups", "2"}, {"global-alpha", "-1"}}, "--global-alpha -1 (command line): expected a number above 0"},
      {{{"global-alpha", "0.1"}}, "--global-alpha 0.1 (command line): has no effect with one group"},
      {{{"groups", "0-3"}, {"global-tau", "100"}}, "has no effect with one group"},
  };
  for (const auto& [given, message] : table) expect_refused("easgd-tree", 4, given, message);
}

TEST(EasgdTreeOptions, have_defaults_by_the_size_of_the_largest_group_and_the_number_of_groups) {
  const Told unequal = tree_told(4, {{"groups", "0-2,3"}});
  for (const std::string part : {"tau = 10, alpha = 0.225, d = 3 workers in the largest group, beta = d alpha = 0.675",
                                 "rho = alpha/lr = 2.25 at the first lr 0.1", "global-tau = 100, global-alpha = 0.3",
                                 "p = 4 workers in G = 2 groups, 0-2,3;"}) {
    EXPECT_TRUE(says(unequal.card, part)) << part;
  }
  EXPECT_TRUE(says(tree_told(4, {}).card, "alpha = 0.18, d = 4"));
  EXPECT_TRUE(says(tree_told(1, {}).card, "alpha = 0.45, d = 1"));
  EXPECT_TRUE(unequal.warnings.empty());
}

TEST(EasgdTreeOptions, beyond_the_bound_warn_unless_silenced) {
  EXPECT_EQ(tree_told(4, {{"groups", "2"}, {"alpha", "0.56"}, {"global-alpha", "0.3"}}).warnings.size(), 0u);
  const auto beyond = tree_told(4, {{"groups", "2"}, {"alpha", "0.57"}, {"global-alpha", "0.3"}}).warnings;
  ASSERT_EQ(beyond.size(), 1u);
  EXPECT_TRUE(says(beyond[0], "may be unstable: alpha = 0.57 must be below 0.564103"));
  const Given sharp = {{"groups", "2"}, {"alpha", "0.57"}, {"global-alpha", "0.3"}, {"global-tau", "10"}};
  EXPECT_TRUE(says(tree_told(4, sharp).warnings.at(0), "is unstable"));
  EXPECT_TRUE(says(tree_told(4, {{"groups", "2"}, {"alpha", "0.67"}}).warnings.at(0), "is unstable"));
  EXPECT_TRUE(says(tree_told(4, {{"groups", "2"}, {"global-alpha", "0.7"}}).warnings.at(0), "2/(1+G) = 0.666667"));
  EXPECT_EQ(tree_told(4, {{"alpha", "0.41"}}).warnings.size(), 1u);  // the bound of a single group is 2/(1+4)
  EXPECT_EQ(tree_told(4, {{"alpha", "0.41"}, {"allow-unstable", "on"}}).warnings.size(), 0u);
}

TEST(EasgdTreeOptions, under_which_the_global_center_never_moves_warn) {
  EXPECT_EQ(tree_told(4, {{"groups", "2"}}, 101).warnings.size(), 0u);
  EXPECT_TRUE(says(tree_told(4, {{"groups", "2"}}, 100).warnings.at(0), "give a smaller --global-tau"));
  EXPECT_TRUE(says(tree_told(4, {}, 10).warnings.at(0), "give a smaller --tau"));
}

// The factor by which workers and centers grow per period of global_tau, which has `periods` exchanges, one of them
// global. Mean over the last 1000 of 2000 periods. q = learning rate times curvature. On a flat loss (q = 0) an
// exchange conserves the mean of workers and centers, so growth is measured around it; otherwise around 0.
double growth(const std::vector<std::vector<int>>& groups, double alpha, double global_alpha, std::int64_t periods,
              std::int64_t tau, double q) {
  int ranks = 0;
  for (const auto& group : groups) ranks += static_cast<int>(group.size());
  TreeSimulator tree({.size = 3}, ranks, groups);
  const auto all = [&] {
    std::vector<Doubles*> each = {&tree.c};
    for (Doubles& x : tree.x) each.push_back(&x);
    for (Doubles& center : tree.centers) each.push_back(&center);
    return each;
  };
  std::uint64_t seed = 7;
  for (Doubles* each : all())
    *each = [&] {
      const std::vector<float> values = Problem{.size = 3}.random_floats(++seed);
      return Doubles(values.begin(), values.end());
    }();
  double growth = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    for (std::int64_t period = 0; period < periods; ++period) {
      const std::vector<Doubles> before = tree.x;
      tree.exchange(alpha, period == 0 ? global_alpha : 0);
      for (std::size_t i = 0; i < tree.x.size(); ++i) {
        for (std::size_t k = 0; k < 3; ++k) {
          tree.x[i][k] = (tree.x[i][k] - q * before[i][k]) * std::pow(1 - q, static_cast<double>(tau - 1));
        }
      }
    }
    double norm = 0, mean[3] = {};
    for (const Doubles* each : all()) {
      for (std::size_t k = 0; k < 3 && q == 0; ++k) mean[k] += (*each)[k] / static_cast<double>(all().size());
    }
    for (Doubles* each : all()) {
      for (std::size_t k = 0; k < 3; ++k) norm += std::pow((*each)[k] -= mean[k], 2);
    }
    if (norm == 0) return 0;
    for (Doubles* each : all()) {
      for (double& value : *each) value /= std::sqrt(norm);
    }
    if (round >= kRounds / 2) growth += std::log(norm) / 2 / (kRounds / 2);
  }
  return std::exp(growth);
}

std::vector<std::vector<int>> equal(int group, int count) {
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(count));
  for (int rank = 0; rank < group * count; ++rank) groups[static_cast<std::size_t>(rank / group)].push_back(rank);
  return groups;
}

TEST(EasgdTreeStability, limit_is_sharp_where_all_meet_at_once) {
  for (const int d : {1, 2, 5}) {
    for (const int count : {2, 3, 4}) {
      for (const double b : {0.1, 0.9 / (count + 1), 1.6 / (count + 1)}) {
        for (const double q : {0.0, 0.5, 1.0}) {
          const double limit = stable_tree_alpha(d, count, b, q);
          SCOPED_TRACE("d " + std::to_string(d) + " G " + std::to_string(count) + " b " + std::to_string(b));
          EXPECT_LT(growth(equal(d, count), 0.99 * limit, b, 1, 1, q), 1) << q;
          EXPECT_GT(growth(equal(d, count), 1.01 * limit, b, 1, 1, q), 1) << q;
        }
      }
    }
  }
}

TEST(EasgdTreeStability, limit_of_the_global_rate_is_where_no_alpha_is_left) {
  EXPECT_EQ(stable_tree_alpha(2, 3, 0.501, 0), 0);
  EXPECT_GT(stable_tree_alpha(2, 3, 0.499, 0), 0);
  EXPECT_GT(growth(equal(2, 3), 0.01, 0.51, 1, 1, 0), 1);
}

TEST(EasgdTreeStability, is_assured_inside_for_longer_periods_and_unequal_groups_and_gone_beyond_easgds_bound) {
  const std::vector<std::vector<int>> divisions[] = {equal(2, 2), equal(3, 3), {{0, 1, 2}, {3}}, {{0, 1, 2}, {3, 4}}};
  for (const auto& groups : divisions) {
    const int d = static_cast<int>(groups[0].size()), count = static_cast<int>(groups.size());
    const double b = 0.9 / (count + 1), limit = 0.99 * stable_tree_alpha(d, count, b, 0);
    for (const std::int64_t periods : {1, 2, 3, 10}) {
      for (const std::int64_t tau : {2, 5}) {
        for (const double q : {0.0, 0.1, 0.5, 1.0}) EXPECT_LT(growth(groups, limit, b, periods, tau, q), 1) << q;
      }
      EXPECT_GT(growth(groups, 2.02 / (1 + d), b, periods, 1, 0), 1) << periods;
    }
  }
}

TEST(EasgdTreeStability, holds_for_the_defaults_on_curvatures_up_to_one) {
  for (const int d : {1, 2, 8, 64}) {
    for (const int count : {2, 3, 16, 256}) {
      EXPECT_LT(0.9 / (d + 1), stable_tree_alpha(d, count, 0.9 / (count + 1), 1)) << d << " " << count;
    }
  }
}

TEST(EasgdTreeStability, without_a_global_pull_is_easgds) {
  for (const int d : {1, 2, 4}) {
    for (const double q : {0.0, 0.5, 1.0}) {
      EXPECT_NEAR(stable_tree_alpha(d, 3, 0, q), (4 - 2 * q) / (2 * (1 + d) - d * q), 1e-12);
    }
  }
}

// Collective. Runs real exchanges on a flat loss. Returns how far workers and the global center are apart in the end.
double distance_after(Transport& transport, double alpha, std::int64_t exchanges) {
  Worker worker(transport, "easgd-tree",
                {{"groups", "2"},
                 {"tau", "1"},
                 {"global-tau", "1"},
                 {"alpha", std::to_string(alpha)},
                 {"global-alpha", "0.3"},
                 {"allow-unstable", "on"}},
                {.size = 1});
  start_at(worker, {static_cast<float>(1 + transport.rank())});
  for (std::int64_t t = 1; t <= exchanges; ++t) {
    const Step step{t, 0, 1, 0.1};
    if (const auto pull = worker.communicator().before_update(step)) cpu_device().pull_parameters(worker.x, *pull);
    worker.communicator().after_update(step);
  }
  double largest = 0;
  const float center = worker.consensus()[0];
  for (const auto& x : gather(transport, worker.x)) largest = std::max<double>(largest, std::abs(x[0] - center));
  return largest;
}

TEST(EasgdTreeStability, training_converges_just_inside_and_diverges_just_outside) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    const double limit = stable_tree_alpha(2, 2, 0.3, 0);
    EXPECT_LT(distance_after(transport, 0.97 * limit, 400), 0.1);
    EXPECT_GT(distance_after(transport, 1.03 * limit, 400), 10);
  });
}

}  // namespace
}  // namespace eave
