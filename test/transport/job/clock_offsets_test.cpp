// The offsets between clocks of ranks, computed from crafted and from real barriers.
#include "transport/job/clock_offsets.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "test/transport/ranks.h"

namespace eave {
namespace {

TEST(ClockOffsets, lie_in_the_narrowest_bounds_of_all_barriers) {
  // By rank 0's clock all ranks leave the barriers at 100, 200 and 300. Rank 1's clock is 5000 ahead, rank 2's 70
  // behind.
  const std::vector<std::vector<BarrierTimes>> ranks = {
      {{90, 104}, {150, 201}, {299, 330}},
      {{5000 + 98, 5000 + 101}, {5000 + 199, 5000 + 202}, {5000 + 280, 5000 + 301}},
      {{20 - 70, 150 - 70}, {120 - 70, 260 - 70}, {298 - 70, 390 - 70}}};
  const std::vector<ClockOffset> offsets = clock_offsets(ranks);
  ASSERT_EQ(offsets.size(), 3u);
  EXPECT_EQ(offsets[0].nanoseconds, 0);
  EXPECT_EQ(offsets[0].error, 0);
  // The second barrier allows no less than 5000 - 2 (199 - 201), the third no more than 5000 + 2 (301 - 299).
  EXPECT_EQ(offsets[1].nanoseconds, 5000);
  EXPECT_EQ(offsets[1].error, 2);
  EXPECT_LE(std::abs(offsets[2].nanoseconds + 70), offsets[2].error);
}

TEST(ClockOffsets, of_ranks_of_one_process_are_0_within_their_error) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    const std::vector<ClockOffset> offsets = measure_clock_offsets(transport);
    ASSERT_EQ(offsets.size(), 3u);
    for (const ClockOffset& offset : offsets) {
      EXPECT_LE(std::abs(offset.nanoseconds), offset.error);
      EXPECT_LT(offset.error, 50'000'000) << "50 ms, on a machine with much to do";
    }
  });
}

}  // namespace
}  // namespace eave
