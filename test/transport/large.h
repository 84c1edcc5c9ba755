// A test of sums and broadcasts with more than 2^31 values. The middle of the array is a single stretch of zeros that
// is mapped many times, so adding it up changes nothing. Only the two ends have memory of their own.
#pragma once

#include <gtest/gtest.h>

#include "eave/transport.h"
#include "test/transport/mirrored_floats.h"

namespace eave {

// Collective.
inline void exchange_more_than_2_31_values(Transport& transport) {
  constexpr std::size_t kCount = (std::size_t{1} << 31) + 12345;
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
}

}  // namespace eave
