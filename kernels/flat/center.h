// Passes over a center, and over the parameters that follow it or are pulled towards it.
#pragma once

#include "eave/update_steps.h"
#include "kernels/flat/expression.h"

namespace eave::passes {

// center ← center + sum. 12 bytes. It is a single addition, so every rank gets the same bits.
struct MoveCenter {
  static constexpr Use kOperands[] = {Use::kChanged, Use::kRead};

  EAVE_ANY_DEVICE void operator()(float& center, float sum) const { center = finite_or(center + sum, center); }
};

// center ← center + sum;  x ← center + keep·(x − center). With keep = 0, x becomes the center exactly. 20 bytes.
struct MoveCenterAndFollow {
  static constexpr Use kOperands[] = {Use::kChanged, Use::kRead, Use::kParameters};
  static constexpr bool kMayBeAhead = true;
  float keep;

  template <class At>
  EAVE_ANY_DEVICE void operator()(const At& at, float& center, float sum, float& x) const {
    const float moved = finite_or(center + sum, center);
    const float followed = at.parameter_of(moved + keep * (at.iterate_of(x) - moved));
    center = moved;
    x = finite_or(followed, x);
  }
};

// difference = factor·(x − center). 12 bytes.
struct WriteDifference {
  static constexpr Use kOperands[] = {Use::kWritten, Use::kRead, Use::kRead};
  static constexpr bool kMayBeAhead = true;
  float factor;

  template <class At>
  EAVE_ANY_DEVICE void operator()(const At& at, float& difference, float x, float center) const {
    difference = factor * (at.iterate_of(x) - center);
  }
};

// x ← x − difference. 12 bytes.
struct Subtract {
  static constexpr Use kOperands[] = {Use::kChanged, Use::kRead};

  EAVE_ANY_DEVICE void operator()(float& x, float difference) const { x = finite_or(x - difference, x); }
};

// The outer step of methods that treat the way the workers have gone since the last exchange as one gradient. If an
// element's new center would not be finite, its center and velocity stay as they were, and the workers go on from
// there. 24 bytes.
struct StepOuter {
  static constexpr Use kOperands[] = {Use::kChanged, Use::kChanged, Use::kChanged};
  OuterKernelStep step;

  EAVE_ANY_DEVICE void operator()(float& center, float& velocity, float& mean) const {
    const float old = velocity, x = mean;
    const float way = (center - step.ahead * old) - x;
    const float v = step.momentum * old + step.scale * way;
    const float c = x - ((step.carry_left * old + step.step * way) - way);
    const bool moves = is_finite(c - step.ahead * v) && is_finite(c) && is_finite(v);
    velocity = moves ? v : old;
    center = moves ? c : center;
    mean = center - step.ahead * velocity;
  }
};

}  // namespace eave::passes
