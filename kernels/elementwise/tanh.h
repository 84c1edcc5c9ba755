// tanh(x).
#pragma once

#include "kernels/elementwise/math.h"

namespace eave::elementwise {

struct Tanh {
  static constexpr bool kBackwardReadsOutput = false;
  EAVE_ANY_DEVICE float forward(float x) const { return tanh(x); }
  // The derivative from x, 1 / cosh²(x), keeps its digits where the output is nearly 1.
  EAVE_ANY_DEVICE float backward(float x, float d_output) const {
    const float e = exp(-2.0f * magnitude(x)), sum = 1.0f + e;
    return d_output * (4.0f * e / (sum * sum));
  }
};

}  // namespace eave::elementwise
