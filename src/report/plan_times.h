// How long ranks compute between two exchanges: what was measured, and the longest of many.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace eave {

// Seconds that ranks need for `period` steps in a row, from the measured seconds of each step of each measured rank.
//
// Of every measured rank all runs of `period` successive steps are kept, so what lasts some steps, or what makes one
// rank slower than another, stays as it was. The first step follows the last (the circular blocks of Politis and Romano
// 1992), so each step counts alike: the mean of the blocks is that of the steps. If a rank has fewer than 4 periods of
// steps, blocks are a quarter of what it has, drawn out to the period: their scatter is then overstated.
class PeriodTimes {
 public:
  // Every rank has steps. period >= 1.
  PeriodTimes(const std::vector<std::vector<double>>& step_seconds, std::int64_t period);

  double mean() const { return mean_; }
  // The mean of `ranks` ranks of which rank r is like the measured rank r mod R.
  double mean_of_ranks(int ranks) const;

  // The expected longest of `ranks` independent ones, of which an equal part is like each measured rank:
  //   E[max] = integral of 1 - G(x) dx = sum_k x_(k) (G(x_(k)) - G(x_(k-1))),   G(x) = prod_r F_r(x)^(ranks / R),
  // F_r the empirical distribution of measured rank r of R (David, Nagaraja 2003, "Order statistics", 2.3 and 3.1).
  // None is longer than the longest measured: for many more ranks than blocks it is a lower bound.
  double expected_longest(int ranks) const;

  // One by chance, for rank `rank`, which is like the measured rank `rank` mod R.
  double draw(int rank, std::mt19937_64& random) const;

 private:
  std::vector<std::vector<double>> blocks_;  // by measured rank
  std::vector<double> means_;                // by measured rank
  double mean_ = 0;
};

}  // namespace eave
