#include "nn/arena_planner.h"

#include <algorithm>

#include "eave/check.h"

namespace eave {

std::int64_t ArenaPlanner::take(std::int64_t size) {
  const std::int64_t rounded = std::max<std::int64_t>(16, (size + 15) / 16 * 16);
  std::int64_t offset = 0;
  for (const auto& [begin, end] : taken_) {
    if (begin - offset >= rounded) break;
    offset = end;
  }
  taken_.emplace(offset, offset + rounded);
  peak_ = std::max(peak_, offset + rounded);
  return offset;
}

void ArenaPlanner::release(std::int64_t offset) {
  EAVE_CHECK(taken_.erase(offset) == 1, "nothing was taken at " + std::to_string(offset));
}

}  // namespace eave
