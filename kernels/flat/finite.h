// The gate of all passes that write what outlives a step: parameters, an optimizer's vectors, a center. If an element's
// new value would not be finite, the element keeps the old one. So NaN and infinity do not spread beyond the step in
// which they arose, whatever caused them.
#pragma once

#include <cstdint>

#include "kernels/elementwise/expression.h"

namespace eave::passes {

// Values are compared as integers, which are as wide as the floats. A bool would have to be packed and unpacked in
// vectors.
using Mask = std::int32_t;  // all bits set, or 0

EAVE_ANY_DEVICE std::int32_t bits_of(float x) { return __builtin_bit_cast(std::int32_t, x); }

EAVE_ANY_DEVICE bool is_finite(float x) { return (bits_of(x) & 0x7fffffff) < 0x7f800000; }

// All bits set if x is finite, else 0.
EAVE_ANY_DEVICE Mask mask_of_finite(float x) { return is_finite(x) ? -1 : 0; }

// x if the mask is set, else 0: a step that is not taken.
EAVE_ANY_DEVICE float masked(float x, Mask mask) { return __builtin_bit_cast(float, bits_of(x) & mask); }

// a if the mask is set, else b.
EAVE_ANY_DEVICE float selected(float a, float b, Mask mask) {
  return __builtin_bit_cast(float, (bits_of(a) & mask) | (bits_of(b) & ~mask));
}

EAVE_ANY_DEVICE float finite_or(float value, float otherwise) { return is_finite(value) ? value : otherwise; }

}  // namespace eave::passes
