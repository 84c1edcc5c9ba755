// Simulates the pace of ranks when each waits for the exchange before: that has no closed form.
//
// Each function returns the mean seconds between two exchanges in the long run, of `ranks` ranks. Their computing times
// between two exchanges are drawn from `times`, with the same random numbers in every call. The simulation only adds
// waiting to the mean computing time, so the result is never less than that mean. All are max-plus recursions: t_i is
// when rank i begins exchange k, x_i how long it computes then. Beyond 2^22 draws, fewer exchanges are simulated.
#pragma once

#include <cstdint>

#include "report/plan/plan_times.h"

namespace eave {

// easgd: an exchange begins when the last rank arrives, takes `exchange` seconds, and must end before the next one:
//   t_i <- max(t_i + x_i, max_j t_j + exchange)
double elastic_pace(const PeriodTimes& times, int ranks, double exchange);

// easgd-tree: each group of `group` ranks exchanges like easgd, in `within` seconds. Every `ratio`-th time the first
// ranks of all groups exchange with each other, once all of their group exchanges have ended. That takes `between`
// seconds. The next exchange of a group does not begin before it has ended.
struct TreePace {
  int group = 1;
  std::int64_t ratio = 1;
  double within = 0, between = 0;
};
double tree_pace(const PeriodTimes& times, int ranks, const TreePace& tree);

// gossip: before a step, ranks meet in random pairs (i, j), and their exchange ends before that step's update. x_i
// begins with this step, the first of `period` steps:
//   t_i <- max(t_i + x_i / period, max(t_i, t_j) + exchange) + x_i (period - 1) / period
double pair_pace(const PeriodTimes& times, int ranks, std::int64_t period, double exchange);

}  // namespace eave
