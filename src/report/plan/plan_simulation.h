// Models how long ranks compute between two exchanges, from measured step times, and simulates ranks that wait for the
// exchange before. That has no closed form.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace eave {

// The seconds that ranks need for `period` consecutive steps, from the measured seconds of each step of each measured
// rank.
//
// A block is the sum of `period` consecutive steps of one measured rank. All blocks of each rank are kept. So a
// disturbance that lasts several steps, and a difference between ranks, keep their effect. The step after the last one
// is the first (the circular blocks of Politis and Romano 1992). Each step then counts equally, and the mean of the
// blocks is that of the steps.
//
// If a rank has fewer than 4 periods of steps, a block covers a quarter of its steps and is scaled up to the period.
// This overstates the variation of the blocks.
class PeriodTimes {
 public:
  // Requires at least one step of each rank, and period >= 1.
  PeriodTimes(const std::vector<std::vector<double>>& step_seconds, std::int64_t period);

  double mean() const { return mean_; }
  // The mean over `ranks` ranks, where rank r behaves like the measured rank r mod R.
  double mean_of_ranks(int ranks) const;

  // The expected longest time of `ranks` independent ranks, with an equal share like each measured rank:
  //   E[max] = integral of 1 - G(x) dx = sum_k x_(k) (G(x_(k)) - G(x_(k-1))),   G(x) = prod_r F_r(x)^(ranks / R),
  // where F_r is the empirical distribution of measured rank r of R (David, Nagaraja 2003, "Order statistics", 2.3 and
  // 3.1). No time exceeds the longest measured one. So for many more ranks than blocks the result is a lower bound.
  double expected_longest(int ranks) const;

  // Draws one block at random for rank `rank`, which behaves like the measured rank `rank` mod R.
  double draw(int rank, std::mt19937_64& random) const;

 private:
  std::vector<std::vector<double>> blocks_;  // by measured rank
  std::vector<double> means_;                // by measured rank
  double mean_ = 0;
};

// Each of the functions below returns the mean seconds between two exchanges in the long run, of `ranks` ranks. Their
// computing times between two exchanges are drawn from `times`, with the same random numbers in every call. The
// simulation only adds waiting to the mean computing time, so the result is never less than that mean. All are max-plus
// recursions: t_i is when rank i begins exchange k, x_i how long it computes then. Beyond 2^22 draws, fewer exchanges
// are simulated.
//
// easgd: an exchange begins when the last rank arrives, takes `exchange` seconds, and must end before the next one:
//   t_i <- max(t_i + x_i, max_j t_j + exchange)
double simulate_elastic(const PeriodTimes& times, int ranks, double exchange);

// easgd-tree: each group of `group` ranks exchanges like easgd, in `within` seconds. Every `ratio`-th time the first
// ranks of all groups exchange with each other, once all of their group exchanges have ended. That takes `between`
// seconds. The next exchange of a group does not begin before it has ended. If `waits`, each rank computes only after
// its exchanges have ended, as with --overlap off: the first ranks after both, the others after that of their group.
struct TreeTiming {
  int group = 1;
  std::int64_t ratio = 1;
  double within = 0, between = 0;
  bool waits = false;
};
double simulate_tree(const PeriodTimes& times, int ranks, const TreeTiming& tree);

// gossip: before a step, ranks meet in random pairs (i, j), and their exchange ends before that step's update. x_i
// begins with this step, the first of `period` steps:
//   t_i <- max(t_i + x_i / period, max(t_i, t_j) + exchange) + x_i (period - 1) / period
double simulate_pairs(const PeriodTimes& times, int ranks, std::int64_t period, double exchange);

}  // namespace eave
