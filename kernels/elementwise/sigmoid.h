// 1 / (1 + e^−x).
#pragma once

#include "kernels/elementwise/math.h"

namespace eave::elementwise {

struct Sigmoid {
  static constexpr bool kBackwardReadsOutput = false;
  EAVE_ANY_DEVICE float forward(float x) const { return logistic(x); }
  EAVE_ANY_DEVICE float backward(float x, float d_output) const {
    const float e = exp(-magnitude(x)), sum = 1.0f + e;
    return d_output * (e / (sum * sum));
  }
};

}  // namespace eave::elementwise
