// A toy for test/extend: x / (1 + |x|).
#pragma once

#include <cmath>

#include "kernels/elementwise/expression.h"

namespace eave::elementwise {

struct ToySoftsign {
  static constexpr bool kBackwardReadsOutput = false;
  static constexpr float kFar = 1e30f;  // from here on the result is 1
  EAVE_ANY_DEVICE float forward(float x) const {
    const float size = at_most(kFar, magnitude(x));
    return with_sign_of(x, size / (1.0f + size));
  }
  EAVE_ANY_DEVICE float backward(float x, float d_output) const {
    const float sum = 1.0f + at_most(kFar, magnitude(x));
    return d_output * (1.0f / sum / sum);
  }
  static double exact(double x) { return x / (1 + std::abs(x)); }
  static double exact_slope(double x) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); }
};

}  // namespace eave::elementwise
