#include "transport/job/clock_offsets.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/trace_buffer.h"

namespace eave {
namespace {

constexpr std::size_t kBarriers = 32;

}  // namespace

std::vector<ClockOffset> clock_offsets(const std::vector<std::vector<BarrierTimes>>& ranks) {
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

std::vector<ClockOffset> measure_clock_offsets(Transport& transport) {
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
