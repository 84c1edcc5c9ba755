// Measures how far the steady clocks of the ranks are apart.
#pragma once

#include <cstdint>
#include <vector>

#include "eave/transport.h"

namespace eave {

// A rank's clock minus rank 0's, in nanoseconds, and the largest possible error of that.
struct ClockOffset {
  std::int64_t nanoseconds = 0;
  std::int64_t error = 0;
};

// When a rank entered a barrier of all ranks and when it left, by its own clock, in nanoseconds.
struct BarrierTimes {
  std::int64_t before = 0, after = 0;
};

// Computes the offset of each rank from ranks[rank][barrier]. Let o_i be the clock of rank i minus that of rank 0. No
// rank leaves a barrier before all have entered, so in every barrier  before_i - after_0 <= o_i <= after_i - before_0.
// The result is the middle of the narrowest bounds.
std::vector<ClockOffset> clock_offsets(const std::vector<std::vector<BarrierTimes>>& ranks);

// Collective, with nothing in flight: passes some barriers one after another. Returns the same on all ranks.
std::vector<ClockOffset> measure_clock_offsets(Transport& transport);

}  // namespace eave
