// The gate of all passes that write what outlives a step: parameters, an optimizer's vectors, a center. An element
// whose new value would not be finite keeps the old one. So what is no number ends where it arose, whatever brought it.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {

// Compared as integers, which are as wide as the floats: a bool would be packed and unpacked in vectors.
inline constexpr std::int32_t kInfinite = 0x7f800000;  // and above: not a number

EAVE_INLINE std::int32_t magnitude_of(float x) { return std::bit_cast<std::int32_t>(x) & 0x7fffffff; }

// All bits where x is finite, else none.
EAVE_INLINE std::int32_t mask_of_finite(float x) { return magnitude_of(x) < kInfinite ? -1 : 0; }

// 0 where the mask is: a step not taken.
EAVE_INLINE float masked(float x, std::int32_t mask) {
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(x) & mask);
}

// a where the mask is set, else b.
EAVE_INLINE float selected(float a, float b, std::int32_t mask) {
  return std::bit_cast<float>((std::bit_cast<std::int32_t>(a) & mask) | (std::bit_cast<std::int32_t>(b) & ~mask));
}

EAVE_INLINE bool is_finite(float x) { return magnitude_of(x) < kInfinite; }

EAVE_INLINE float finite_or(float value, float otherwise) { return is_finite(value) ? value : otherwise; }

}  // namespace eave::cpu
