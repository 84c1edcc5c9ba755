// A copy with a weight, and what it tells of the values, against loops that say the same one by one.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/cpu/finite.h"
#include "kernels/cpu/vector_passes.h"

namespace eave {
namespace {

std::vector<float> values_of_all_sizes(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(std::sin(static_cast<double>(i)) * std::pow(10.0, static_cast<double>(i % 60) - 45));
  return values;
}

TEST(CopiedValues, are_the_products_with_their_largest_magnitude_and_the_fingerprint) {
  for (const std::size_t count : {0, 1, 7, 16, 17, 1000, 4099})
    for (const float weight : {1.0f, 0.5f, 1e-3f, -2.0f}) {
      const std::vector<float> from = values_of_all_sizes(count);
      std::vector<float> into(count + 1, 42), expected(count + 1, 42);
      float largest = 0;
      std::uint64_t fingerprint = 0;
      for (std::size_t i = 0; i < count; ++i) {
        expected[i] = weight * from[i];
        largest = std::max(largest, std::fabs(expected[i]));
        const std::uint64_t bits = std::bit_cast<std::uint32_t>(from[i]);
        fingerprint += bits * (bits ^ (i + 5));
      }
      const cpu::CopiedValues copied = cpu::copy_weighted(into.data(), from.data(), weight, count, 5);
      EXPECT_EQ(into, expected) << count << " values, weight " << weight;
      EXPECT_EQ(std::bit_cast<float>(copied.largest), largest) << count << " values, weight " << weight;
      EXPECT_EQ(copied.fingerprint, fingerprint) << count << " values, weight " << weight;
      EXPECT_EQ(cpu::fingerprint(from.data(), count, 5), fingerprint);
    }
}

TEST(Fingerprints, of_parts_add_up_and_change_with_the_values_and_their_places) {
  std::vector<float> values = values_of_all_sizes(1000);
  const std::uint64_t before = cpu::fingerprint(values.data(), 1000);
  EXPECT_EQ(cpu::fingerprint(values.data(), 300) + cpu::fingerprint(values.data() + 300, 700, 300), before);
  std::swap(values[3], values[700]);
  EXPECT_NE(cpu::fingerprint(values.data(), 1000), before);
  std::swap(values[3], values[700]);
  EXPECT_EQ(cpu::fingerprint(values.data(), 1000), before);
  for (float& value : values) value = -value;
  EXPECT_NE(cpu::fingerprint(values.data(), 1000), before);
}

TEST(CopiedValues, tell_if_one_is_not_finite_or_becomes_so_by_the_weight) {
  for (const std::size_t at : {0, 20, 39}) {
    const auto is_finite = [&](float value, float weight) {
      std::vector<float> from(40, 1), into(40);
      from[at] = value;
      return cpu::copy_weighted(into.data(), from.data(), weight, from.size()).largest < cpu::kInfinite;
    };
    for (const float weight : {1.0f, 0.5f}) {
      EXPECT_TRUE(is_finite(std::numeric_limits<float>::max(), weight));
      EXPECT_FALSE(is_finite(std::nanf(""), weight));
      EXPECT_FALSE(is_finite(-std::nanf(""), weight));
      EXPECT_FALSE(is_finite(-HUGE_VALF, weight));
    }
    EXPECT_FALSE(is_finite(std::numeric_limits<float>::max(), 2));
  }
}

}  // namespace
}  // namespace eave
