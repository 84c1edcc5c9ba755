// Places of a step's values in memory, for models of any number of layers.
#include "nn/step_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace eave {
namespace {

// The same by a search through all taken places.
class SlowPlanner {
 public:
  std::int64_t take(std::int64_t size) {
    const std::int64_t rounded = std::max<std::int64_t>(16, (size + 15) / 16 * 16);
    std::int64_t offset = 0;
    for (const auto& [begin, end] : taken_) {
      if (begin - offset >= rounded) break;
      offset = end;
    }
    taken_.emplace(offset, offset + rounded);
    return offset;
  }
  void release(std::int64_t offset) { taken_.erase(offset); }

 private:
  std::map<std::int64_t, std::int64_t> taken_;
};

TEST(ArenaPlanner, gives_the_lowest_free_place_whatever_was_released) {
  ArenaPlanner planner;
  SlowPlanner slow;
  std::vector<std::int64_t> taken;
  std::uint64_t state = 1;
  const auto draw = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  for (int i = 0; i < 4000; ++i) {
    // In turn more is taken and more is released, at last everything.
    const bool takes = i < 3000 && draw(100) < (i / 500 % 2 == 0 ? 70U : 30U);
    if (takes || taken.empty()) {
      const auto size = static_cast<std::int64_t>(draw(200));
      taken.push_back(planner.take(size));
      ASSERT_EQ(taken.back(), slow.take(size)) << i;
    } else {
      const auto which = taken.begin() + static_cast<std::ptrdiff_t>(draw(taken.size()));
      planner.release(*which);
      slow.release(*which);
      taken.erase(which);
    }
  }
  EXPECT_ANY_THROW(planner.release(8));
}

// A search through all places would need minutes.
TEST(ArenaPlanner, takes_many_places_in_a_time_in_proportion) {
  constexpr std::int64_t kPlaces = 300'000;
  ArenaPlanner planner;
  for (std::int64_t i = 0; i < kPlaces; ++i) ASSERT_EQ(planner.take(16), 16 * i);
  for (std::int64_t i = kPlaces; i-- > 0;) planner.release(16 * i);
  EXPECT_EQ(planner.take(1), 0);
  EXPECT_EQ(planner.peak(), 16 * kPlaces);
}

}  // namespace
}  // namespace eave
