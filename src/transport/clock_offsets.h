// How far the steady clocks of ranks are apart.
#pragma once

#include <cstdint>
#include <vector>

#include "eave/transport.h"

namespace eave {

// A rank's clock minus rank 0's, in nanoseconds, and by how much that may be wrong at most.
struct ClockOffset {
  std::int64_t nanoseconds = 0;
  std::int64_t error = 0;
};

// When a rank came to a meeting of all and when it left, by its own clock.
struct MeetingTimes {
  std::int64_t before = 0, after = 0;
};

// Of each rank, from [rank][meeting]. Nobody leaves a meeting before all have come, so with o_i the clock of rank i
// minus that of rank 0,  before_i - after_0 <= o_i <= after_i - before_0  in every meeting: the narrowest of these
// bounds hold it, and its middle is taken.
std::vector<ClockOffset> clock_offsets(const std::vector<std::vector<MeetingTimes>>& ranks);

// Collective, with nothing in flight: some meetings, one after another. The same on all ranks.
std::vector<ClockOffset> measure_clock_offsets(Transport& transport);

}  // namespace eave
