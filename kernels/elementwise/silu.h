// x / (1 + e^−x) (Elfwing, Uchibe, Doya 2018, "Sigmoid-weighted linear units"; also called swish).
#pragma once

#include "kernels/elementwise/math.h"

namespace eave::elementwise {

struct Silu {
  static constexpr bool kBackwardReadsOutput = false;
  static constexpr float kFar = 100.0f;  // from here on, 1 / (1 + e^x) is 0
  EAVE_ANY_DEVICE float forward(float x) const {
    const float bounded = at_least(-kFar, x);
    return bounded * logistic(bounded);
  }
  EAVE_ANY_DEVICE float backward(float x, float d_output) const {
    const float bounded = at_most(kFar, at_least(-kFar, x));
    const Logistic at = split_logistic(bounded);
    return d_output * (at.share * fused(bounded, at.rest, 1.0f));
  }
};

}  // namespace eave::elementwise
