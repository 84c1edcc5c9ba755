// The gate of all passes that write what outlives a step: parameters, an optimizer's vectors, a center. If an element's
// new value would not be finite, the element keeps the old one. So NaN and infinity do not spread beyond the step in
// which they arose, whatever caused them.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {

// Values are compared as integers, which are as wide as the floats. A bool would have to be packed and unpacked in
// vectors.
inline constexpr std::int32_t kInfinite = 0x7f800000;  // larger magnitudes are NaN

EAVE_INLINE std::int32_t magnitude_of(float x) { return std::bit_cast<std::int32_t>(x) & 0x7fffffff; }

// All bits set if x is finite, else 0.
EAVE_INLINE std::int32_t mask_of_finite(float x) { return magnitude_of(x) < kInfinite ? -1 : 0; }

// x if the mask is set, else 0: a step that is not taken.
EAVE_INLINE float masked(float x, std::int32_t mask) {
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(x) & mask);
}

// a if the mask is set, else b.
EAVE_INLINE float selected(float a, float b, std::int32_t mask) {
  return std::bit_cast<float>((std::bit_cast<std::int32_t>(a) & mask) | (std::bit_cast<std::int32_t>(b) & ~mask));
}

EAVE_INLINE bool is_finite(float x) { return magnitude_of(x) < kInfinite; }

EAVE_INLINE float finite_or(float value, float otherwise) { return is_finite(value) ? value : otherwise; }

}  // namespace eave::cpu
