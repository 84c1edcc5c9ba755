// Numbers for tests of kernels, and how they are compared.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "eave/random.h"
#include "kernels/cuda/half.h"

namespace eave::cuda {

// Normal numbers that a T can hold, as float.
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

// Bit by bit; NaN equals NaN of the same bits.
inline void expect_same_bits(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << got[i] << " and " << expected[i] << " at " << i << " of " << got.size();
  }
}

// Each within relative · |expected| + absolute.
inline void expect_near(const std::vector<float>& got, const std::vector<float>& expected, double relative,
                        double absolute) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(double{got[i]} - double{expected[i]}), relative * std::abs(double{expected[i]}) + absolute)
        << got[i] << " and " << expected[i] << " at " << i << " of " << got.size();
  }
}

// Half of the distance between neighbours in T, relative: what rounding a result to T may change. For float, twice
// 2^-24 for each of the few operations that may be done in another order.
template <class T>
inline constexpr double kRounding = std::is_same_v<T, Half> ? 0x1p-8 : 0x1p-21;

// Results of the same operations in float, rounded to T at the end: bit by bit.
template <class T>
void expect_rounded(const std::vector<T>& got, const std::vector<float>& expected) {
  expect_same_bits(to_floats(got), to_floats(as<T>(expected)));
}

}  // namespace eave::cuda
