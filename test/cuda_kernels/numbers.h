// Numbers for kernel tests, and comparisons of results.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "eave/random.h"
#include "kernels/cuda/support/half.h"

namespace eave::cuda {

inline std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

// Normally distributed numbers, rounded to values that a T can hold, as floats.
template <class T = float>
std::vector<float> some_numbers(std::size_t size, std::uint32_t part, float deviation = 1) {
  RandomStream random({17, Purpose::kTest, part}, 0);
  std::vector<float> values(size);
  for (float& value : values) {
    value = deviation * random.normal();
    if constexpr (std::is_same_v<T, Half>) value = __bfloat162float(__float2bfloat16(value));
  }
  return values;
}

template <class T>
std::vector<T> as(const std::vector<float>& values) {
  std::vector<T> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, Half>) {
      result[i] = __float2bfloat16(values[i]);
    } else {
      result[i] = values[i];
    }
  }
  return result;
}

inline std::vector<float> to_floats(const std::vector<float>& values) { return values; }
inline std::vector<float> to_floats(const std::vector<Half>& values) {
  std::vector<float> result;
  for (const Half value : values) result.push_back(__bfloat162float(value));
  return result;
}

// Expects the same bits; a NaN equals a NaN with the same bits.
inline void expect_same_bits(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << got[i] << " and " << expected[i] << " at " << i << " of " << got.size();
  }
}

// Expects each element within relative · |expected| + absolute.
inline void expect_near(const std::vector<float>& got, const std::vector<float>& expected, double relative,
                        double absolute) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(double{got[i]} - double{expected[i]}), relative * std::abs(double{expected[i]}) + absolute)
        << got[i] << " and " << expected[i] << " at " << i << " of " << got.size();
  }
}

// The relative error of a result. For bfloat16: half of the distance between neighbours, from rounding to T. For float:
// twice 2^-24 for each of the few operations that may run in another order.
template <class T>
inline constexpr double kRounding = std::is_same_v<T, Half> ? 0x1p-8 : 0x1p-21;

// Expects the bits of `expected`, computed by the same operations in float, rounded to T at the end.
template <class T>
void expect_rounded(const std::vector<T>& got, const std::vector<float>& expected) {
  expect_same_bits(to_floats(got), to_floats(as<T>(expected)));
}

}  // namespace eave::cuda
