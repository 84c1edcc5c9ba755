// Sums over the values of a row in a fixed order: 16 lanes side by side, whatever the instruction set. For functions
// that are compiled for several instruction sets (kernels/cpu/multiversion.h).
#pragma once

#include <cstdint>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {

inline constexpr std::int64_t kSumLanes = 16;
typedef float LaneVector __attribute__((vector_size(4 * kSumLanes)));
typedef float AnyLanes __attribute__((vector_size(4 * kSumLanes), aligned(4), may_alias));

// The results are arguments, because returning a vector would need an instruction set that has it.
EAVE_INLINE void load_lanes(const float* from, LaneVector& into) { into = *reinterpret_cast<const AnyLanes*>(from); }

EAVE_INLINE float add_lanes(const LaneVector& lanes) {
  float sums[kSumLanes];
  *reinterpret_cast<AnyLanes*>(sums) = lanes;
  for (std::int64_t width = kSumLanes / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

// The sum of values(i). `lanes(i, vector)` sets the vector to the 16 values from i on.
template <class Lanes, class Value>
EAVE_INLINE float sum_lanes(std::int64_t count, Lanes lanes, Value value) {
  LaneVector sum = {};
  const std::int64_t whole = count / kSumLanes * kSumLanes;
  for (std::int64_t i = 0; i < whole; i += kSumLanes) {
    LaneVector more;
    lanes(i, more);
    sum += more;
  }
  float rest = 0;
  for (std::int64_t i = whole; i < count; ++i) rest += value(i);
  return add_lanes(sum) + rest;
}

EAVE_INLINE float sum_values(const float* x, std::int64_t count) {
  return sum_lanes(
      count, [=](std::int64_t i, LaneVector & v) __attribute__((always_inline)) { load_lanes(x + i, v); },
      [=](std::int64_t i) __attribute__((always_inline)) { return x[i]; });
}

EAVE_INLINE float dot_values(const float* a, const float* b, std::int64_t count) {
  return sum_lanes(
      count,
      [=](std::int64_t i, LaneVector & v) __attribute__((always_inline)) {
        LaneVector other;
        load_lanes(a + i, v);
        load_lanes(b + i, other);
        v *= other;
      },
      [=](std::int64_t i) __attribute__((always_inline)) { return a[i] * b[i]; });
}

EAVE_INLINE float largest_value(const float* x, std::int64_t count) {
  float lanes[kSumLanes];
  for (std::int64_t k = 0; k < kSumLanes; ++k) lanes[k] = x[0];
  std::int64_t i = 0;
  for (; i + kSumLanes <= count; i += kSumLanes) {
    for (std::int64_t k = 0; k < kSumLanes; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
  }
  float largest = lanes[0];
  for (std::int64_t k = 1; k < kSumLanes; ++k) largest = lanes[k] > largest ? lanes[k] : largest;
  for (; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

}  // namespace eave::cpu
