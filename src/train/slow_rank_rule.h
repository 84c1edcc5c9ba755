// When a rank counts as slow: a rule that hiccups and busy cores do not meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "eave/trainer.h"

namespace eave {

// How long one rank computed per step in a window of steps. Zeros: not known.
struct ComputingTimes {
  double shortest = 0;  // of the window's steps: what disturbs some of them does not show here
  double mean = 0;      // without the time in which the rank was ready to run and other threads had the cores
};

// A window stands out by the smaller of two factors, by which each of its numbers is above the median of the other
// ranks'. A rank is slow when windows in a row stand out
//     by more than 1.5, of 30 steps and of a second of its computing, or
//     by more than 3, of 40 steps and of a quarter of a second.
// In less time than that, neighbours on the same processor slow one rank down and then another.
// So most others have to be faster, and neither a step that was held up nor many ranks on few cores, which delay all in
// turn, make one slow. What else takes a rank's core from it does not either: Stragglers show that at the end. A rank
// is named once.
class SlowRankRule {
 public:
  explicit SlowRankRule(std::size_t ranks) : ranks_(ranks) {}

  // The next window of all ranks, of so many steps. Returns who is slow from now on.
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
