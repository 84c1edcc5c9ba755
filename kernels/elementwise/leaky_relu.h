// x where it is positive, otherwise slope · x (Maas et al. 2013, "Rectifier nonlinearities improve neural network
// acoustic models", section 2). The derivative at 0 is the slope.
#pragma once

#include "kernels/elementwise/expression.h"

namespace eave::elementwise {

struct LeakyRelu {
  float slope;
  static constexpr bool kBackwardReadsOutput = false;
  EAVE_ANY_DEVICE float forward(float x) const {
    const float below = slope * x;
    return x < 0 ? below : x;
  }
  EAVE_ANY_DEVICE float backward(float x, float d_output) const {
    const float below = slope * d_output;
    return x > 0 ? d_output : below;
  }
};

}  // namespace eave::elementwise
