// max(x, 0), and NaN for NaN, so that a diverged run is seen.
#pragma once

#include "kernels/elementwise/expression.h"

namespace eave::elementwise {

struct Relu {
  static constexpr bool kBackwardReadsOutput = true;
  EAVE_ANY_DEVICE float forward(float x) const { return x < 0 ? 0.0f : x; }
  EAVE_ANY_DEVICE float backward(float y, float d_output) const { return y > 0 ? d_output : 0.0f; }
};

}  // namespace eave::elementwise
