// More than 2^31 values. Their middle is one stretch of memory seen many times, and zero: adding it up any number of
// times changes nothing. The ends are real.
#include <gtest/gtest.h>

#include "eave/transport.h"
#include "test/transport/mirrored_floats.h"

namespace eave {
namespace {

constexpr std::size_t kCount = (std::size_t{1} << 31) + 12345;

TEST(LargeCounts, all_reduce_and_broadcast_reach_the_last_value) {
  for (const TransportKind& kind : transport_kinds()) {
    if (kind.name == "mpi") continue;  // test/mpi
    const int code = kind.run(2, [](Transport& transport) {
      MirroredFloats memory(kCount);
      const Slice values = memory.slice();
      const float mine = static_cast<float>(transport.rank() + 1);
      const float all = static_cast<float>(transport.size() * (transport.size() + 1) / 2);
      values.front() = values[kCount - 10000] = values.back() = mine;
      transport.all_reduce_sum(values).wait();
      for (std::size_t at : {std::size_t{0}, kCount - 10000, kCount - 1}) EXPECT_EQ(values[at], all) << at;
      EXPECT_EQ(values[kCount / 2], 0.0f);
      values.back() = mine;
      transport.broadcast(values, transport.size() - 1).wait();
      EXPECT_EQ(values.back(), static_cast<float>(transport.size()));
    });
    EXPECT_EQ(code, 0);
  }
}

}  // namespace
}  // namespace eave
