// Buffers begin as zeros, and large ones at places that do not compete for the caches.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "eave/device.h"

namespace eave {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;  // values; 4 MiB

std::uintptr_t address_of(Buffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.slice().data()); }

// If the vectors of one pass began at the same place of their pages, they would compete for the same cache sets.
TEST(Buffer, of_large_ones_no_two_begin_at_the_same_place_of_their_pages_nor_at_its_beginning) {
  std::set<std::uintptr_t> places = {0};
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < 7; ++i) {
    Buffer& buffer = buffers.emplace_back(kLarge + i * 1000);
    EXPECT_EQ(address_of(buffer) % 64, 0u);
    EXPECT_TRUE(places.insert(address_of(buffer) % 4096).second) << i;
  }
}

TEST(Buffer, is_zero_and_its_own_to_the_last_value) {
  for (const std::size_t size : {std::size_t{1}, kLarge - 1, kLarge, kLarge + (kLarge >> 1), 3 * kLarge}) {
    Buffer one(size), other(size);
    for (const float value : one.slice()) ASSERT_EQ(value, 0.0f);
    for (float& value : one.slice()) value = 1;
    for (const float value : other.slice()) ASSERT_EQ(value, 0.0f);
    for (float& value : other.slice()) value = 2;
    for (const float value : one.slice()) ASSERT_EQ(value, 1.0f);
  }
}

}  // namespace
}  // namespace eave
