// SlowRankRule: when a rank counts as slow, on crafted series of computing times.
#include "train/watch/slow_rank_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace eave {
namespace {

using Window = std::vector<ComputingTimes>;

Window window_of(const std::vector<double>& milliseconds) {
  Window window;
  for (const double each : milliseconds) window.push_back({1e-3 * each, 1.1e-3 * each});
  return window;
}

// The number of the window, from 1, in which the rule names `rank` (-1: any rank). 0 if it never does.
int first_named(SlowRankRule& rule, const std::vector<Window>& windows, int rank = -1) {
  for (std::size_t i = 0; i < windows.size(); ++i) {
    for (const Straggler& slow : rule.add(windows[i], 10)) {
      if (rank < 0 || slow.rank == rank) return static_cast<int>(i) + 1;
    }
  }
  return 0;
}

// Tests windows of 10 steps, with steps of 40 ms and of 2 ms.
TEST(SlowRankRule, names_a_rank_after_30_long_steps_or_40_far_too_long_ones_and_by_how_much) {
  for (const std::vector<double>& times : {std::vector<double>{40, 80}, {40, 80, 40}, {40, 80, 44, 36}}) {
    SlowRankRule rule(times.size()), brief(times.size());
    EXPECT_EQ(first_named(rule, std::vector<Window>(50, window_of(times)), 1), 3);
    std::vector<double> brief_times = times;
    for (double& each : brief_times) each /= 20;
    EXPECT_EQ(first_named(brief, std::vector<Window>(50, window_of(brief_times)), 1), 23) << "a second";
    brief_times[1] = 8;
    SlowRankRule far(times.size());
    EXPECT_EQ(first_named(far, std::vector<Window>(50, window_of(brief_times)), 1), 4);
  }
  SlowRankRule rule(2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(rule.add(window_of({2, 8}), 10).empty());
  const std::vector<Straggler> slow = rule.add(window_of({2, 8}), 10);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].rank, 1);
  EXPECT_NEAR(slow[0].factor, 4, 1e-12);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(rule.add(window_of({2, 8}), 10).empty()) << "it is named once";
}

TEST(SlowRankRule, names_nobody_for_a_few_windows_in_a_row) {
  SlowRankRule rule(2);
  const Window even = window_of({40, 40}), odd = window_of({40, 360});
  std::vector<Window> windows;
  for (int i = 0; i < 100; ++i) windows.insert(windows.end(), {odd, odd, even});
  EXPECT_EQ(first_named(rule, windows), 0);
}

TEST(SlowRankRule, wants_both_the_shortest_step_and_the_mean_to_be_long) {
  SlowRankRule rule(2);
  // Rank 1 is held up in some steps of each window.
  std::vector<Window> held_up(50, Window{{1e-2, 1e-2}, {1e-2, 9e-2}});
  EXPECT_EQ(first_named(rule, held_up), 0);
  // Rank 1 is held up in all steps, because other threads have its core. The mean does not count that time.
  std::vector<Window> without_core(50, Window{{1e-2, 1e-2}, {9e-2, 1e-2}});
  EXPECT_EQ(first_named(rule, without_core), 0);
}

TEST(SlowRankRule, names_nobody_where_most_ranks_are_slow) {
  SlowRankRule rule(4);
  EXPECT_EQ(first_named(rule, std::vector<Window>(50, window_of({40, 10, 40, 40}))), 0);
}

TEST(SlowRankRule, leaves_out_ranks_that_tell_nothing) {
  SlowRankRule rule(3), alone(3);
  EXPECT_EQ(first_named(rule, std::vector<Window>(50, window_of({0, 40, 10}))), 3);
  EXPECT_EQ(first_named(alone, std::vector<Window>(50, window_of({0, 40, 0}))), 0);
}

TEST(SlowRankRule, takes_one_window_where_it_is_long_enough) {
  SlowRankRule rule(2), few(2);
  EXPECT_EQ(few.add(window_of({40, 10}), 29).size(), 0u);
  EXPECT_EQ(rule.add(window_of({4, 1}), 1000).size(), 1u);
  EXPECT_EQ(rule.add(window_of({1, 1.4}), 1000).size(), 0u);
}

// Windows of 10 steps of 2 ms, which vary by 5 %. In about every 20th step, a rank is held up for 4 to 40 ms, as if
// other threads ran on its core. The scheduler's account removes nine tenths of this from the mean.
std::vector<Window> noisy_windows(int ranks, int windows, double slow_factor) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<Window> series;
  for (int i = 0; i < windows; ++i) {
    Window& window = series.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) {
      ComputingTimes times{1, 0};
      for (int step = 0; step < 10; ++step) {
        const double own = 2e-3 * (1 + 0.05 * share(random)) * (rank == 1 ? slow_factor : 1);
        const double held_up = share(random) < 0.05 ? 4e-3 + 36e-3 * std::pow(share(random), 4) : 0;
        times.shortest = std::min(times.shortest, own + held_up);
        times.mean += (own + 0.1 * held_up) / 10;
      }
      window.push_back(times);
    }
  }
  return series;
}

TEST(SlowRankRule, names_nobody_in_100000_noisy_steps_and_a_slow_rank_in_40) {
  for (const int ranks : {2, 3, 8}) {
    SlowRankRule undisturbed(static_cast<std::size_t>(ranks)), slowed(static_cast<std::size_t>(ranks));
    EXPECT_EQ(first_named(undisturbed, noisy_windows(ranks, 10'000, 1)), 0) << ranks;
    EXPECT_EQ(first_named(slowed, noisy_windows(ranks, 10, 4), 1), 4) << ranks;
  }
}

}  // namespace
}  // namespace eave
