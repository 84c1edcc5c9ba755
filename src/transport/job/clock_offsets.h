// Measures how far the steady clocks of the ranks are apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/trace_buffer.h"
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
inline std::vector<ClockOffset> clock_offsets(const std::vector<std::vector<BarrierTimes>>& ranks) {
  std::vector<ClockOffset> offsets(ranks.size());
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const std::vector<BarrierTimes>&own = ranks[rank], &first = ranks[0];
    std::int64_t least = own[0].before - first[0].after, most = own[0].after - first[0].before;
    for (std::size_t i = 1; i < own.size(); ++i) {
      least = std::max(least, own[i].before - first[i].after);
      most = std::min(most, own[i].after - first[i].before);
    }
    offsets[rank] = {least + (most - least) / 2, (most - least + 1) / 2};
  }
  return offsets;
}

// Collective, with nothing in flight: passes some barriers one after another. Returns the same on all ranks.
inline std::vector<ClockOffset> measure_clock_offsets(Transport& transport) {
  constexpr std::size_t kBarriers = 32;
  std::vector<BarrierTimes> mine(kBarriers);
  for (BarrierTimes& barrier : mine) {
    barrier.before = steady_nanoseconds();
    transport.all_gather("");
    barrier.after = steady_nanoseconds();
  }
  const std::string packed(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(BarrierTimes));
  std::vector<std::vector<BarrierTimes>> ranks;
  for (const std::string& each : transport.all_gather(packed)) {
    ranks.emplace_back(kBarriers);
    std::memcpy(ranks.back().data(), each.data(), each.size());
  }
  return clock_offsets(ranks);
}

}  // namespace eave
