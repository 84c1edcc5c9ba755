// x · Φ(x), with the normal distribution Φ(x) = (1 + erf(x / √2)) / 2 (Hendrycks, Gimpel 2016, "Gaussian error linear
// units").
#pragma once

#include "kernels/elementwise/math.h"

namespace eave::elementwise {

struct Gelu {
  static constexpr bool kBackwardReadsOutput = false;
  EAVE_ANY_DEVICE float forward(float x) const {
    return at_least(-kNormalEnd, x) * normal(x).share;  // the limit for −∞ is 0
  }
  EAVE_ANY_DEVICE float backward(float x, float d_output) const {
    const Normal at = normal(x);
    const float within = with_sign_of(x, at_most(kNormalEnd, magnitude(x)));
    return d_output * fused(within, at.bell * 0.398942280f, at.share);  // 1 / √(2π)
  }
};

}  // namespace eave::elementwise
