// The pace of ranks that wait for each other's former exchange: it has no closed form, so it is played through.
#pragma once

#include <cstdint>

#include "report/plan_times.h"

namespace eave {

// Seconds from one exchange to the next, in the long run, of `ranks` ranks whose computing between two exchanges is
// drawn from `times` (the same numbers in every call). Never less than their mean: only the waiting is taken from what
// was drawn. All are max-plus recursions: t_i is when rank i begins exchange
// k, x_i how long it computes then. Above 2^22 draws fewer exchanges are played through.

// easgd: an exchange begins when the last rank has come, takes `exchange` seconds, and is needed at the next one:
//   t_i <- max(t_i + x_i, max_j t_j + exchange)
double elastic_pace(const PeriodTimes& times, int ranks, double exchange);

// easgd-tree: the same in each group of `group` ranks with `within` seconds; every `ratio`-th time the groups' first
// ranks, when all of them are through with that, exchange for `between` seconds, and their groups' next exchange begins
// no sooner than that has ended.
struct TreePace {
  int group = 1;
  std::int64_t ratio = 1;
  double within = 0, between = 0;
};
double tree_pace(const PeriodTimes& times, int ranks, const TreePace& tree);

// gossip: pairs (i, j) by chance meet before a step and are through with it before that step's update; x_i begins with
// that step, of `period`:
//   t_i <- max(t_i + x_i / period, max(t_i, t_j) + exchange) + x_i (period - 1) / period
double pair_pace(const PeriodTimes& times, int ranks, std::int64_t period, double exchange);

}  // namespace eave
