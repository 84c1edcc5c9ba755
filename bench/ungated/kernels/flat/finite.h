// Replaces kernels/flat/finite.h by one without the gate: every element passes. micro_gate compares the two.
#pragma once

#include <cstdint>

#include "kernels/elementwise/expression.h"

namespace eave::passes {

using Mask = std::int32_t;

EAVE_ANY_DEVICE bool is_finite(float) { return true; }
EAVE_ANY_DEVICE Mask mask_of_finite(float) { return -1; }
EAVE_ANY_DEVICE float masked(float x, Mask) { return x; }
EAVE_ANY_DEVICE float selected(float a, float, Mask) { return a; }
EAVE_ANY_DEVICE float finite_or(float value, float) { return value; }

}  // namespace eave::passes
