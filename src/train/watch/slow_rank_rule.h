// When a rank counts as slow. Short hiccups and hosts with too few cores do not meet the rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "eave/trainer.h"

namespace eave {

// Seconds that one rank computed per step, in a window of steps. 0: not known.
struct ComputingTimes {
  double shortest = 0;  // the shortest step: a disturbance of some steps does not show here
  double mean = 0;      // excludes time in which the rank was ready to run but had no core
};

// Compares each rank's ComputingTimes with the median of the other ranks. The rank's factor in a window is the smaller
// of its two ratios (shortest, mean). A rank is slow if consecutive windows all have
// - a factor above 1.5, for at least 30 steps and 1 s of its computing, or
// - a factor above 3, for at least 40 steps and 0.25 s of its computing.
// In less time than that, neighbours on the same processor slow one rank down and then another.
//
// So most other ranks have to be faster. One step that was held up makes no rank slow. Nor do many ranks on few cores,
// which delay all ranks in turn. Nor do other programs that take a rank's core; the Stragglers at the end of the run
// (report/record/stragglers.h) show these. Each rank is reported once.
class SlowRankRule {
 public:
  explicit SlowRankRule(std::size_t ranks) : ranks_(ranks) {}

  // Adds the next window, with one entry per rank; it has `steps` steps. Returns the ranks that count as slow from now
  // on.
  std::vector<Straggler> add(const std::vector<ComputingTimes>& window, std::int64_t steps);

 private:
  struct InARow {
    std::int64_t steps = 0;
    double seconds = 0;
    void count(bool stands_out, std::int64_t more_steps, double seconds_per_step);
  };
  struct Rank {
    InARow above, far_above;
    bool is_named = false;
  };
  std::vector<Rank> ranks_;
};

}  // namespace eave
