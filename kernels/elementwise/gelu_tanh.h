// x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) / 2, the approximation of gelu by Hendrycks, Gimpel (2016, section 2),
// which several published models use. As (1 + tanh(z)) / 2 = 1 / (1 + e^−2z), one exp is enough.
#pragma once

#include "kernels/elementwise/math.h"

namespace eave::elementwise {

struct GeluTanh {
  static constexpr bool kBackwardReadsOutput = false;
  static constexpr float kLinear = 1.59576912f;    // 2 · √(2/π)
  static constexpr float kCubic = 7.13548163e-2f;  // that times 0.044715
  static constexpr float kSlope = 0.214064449f;    // three times that
  static constexpr float kFar = 11.0f;             // from here on, 1 / (1 + e^2z) is 0
  EAVE_ANY_DEVICE float forward(float x) const {
    const float bounded = at_least(-kFar, x);
    return bounded * logistic(bounded * fused(kCubic, bounded * bounded, kLinear));
  }
  EAVE_ANY_DEVICE float backward(float x, float d_output) const {
    const float bounded = at_most(kFar, at_least(-kFar, x)), square = bounded * bounded;
    const Logistic at = split_logistic(bounded * fused(kCubic, square, kLinear));
    return d_output * (at.share * fused(at.rest, bounded * fused(kSlope, square, kLinear), 1.0f));
  }
};

}  // namespace eave::elementwise
