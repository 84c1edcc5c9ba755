// The optimizers' steps, and the elastic pull without a step. The pull, if any, is part of the same pass: 8 bytes more,
// and another 8 if its center is behind.
#pragma once

#include <cmath>

#include "eave/update_steps.h"
#include "kernels/flat/expression.h"

namespace eave::passes {

EAVE_ANY_DEVICE float& decay_of(SgdStep& step) { return step.weight_decay; }
EAVE_ANY_DEVICE float& decay_of(AdamwStep& step) { return step.decay; }

// The word for parameters whose weight decay has this factor.
template <class Word>
EAVE_ANY_DEVICE Word with_decay(Word word, float share) {
  decay_of(word.step) *= share;
  return word;
}

// SgdStep without momentum. 12 bytes.
struct Sgd {
  static constexpr Use kOperands[] = {Use::kParameters, Use::kRead};
  static constexpr bool kMayPull = true, kMayDecay = true, kAnswers = true;
  SgdStep step;

  template <class Move>
  EAVE_ANY_DEVICE Mask operator()(const Move& move, float& x, float g) const {
    return move(x, x, -step.step_scale * (step.gradient_scale * (step.clip * g + step.weight_decay * x)));
  }
};

// SgdStep with momentum. 20 bytes. The gate tests only the parameter: if the velocity is not finite, neither is the
// step.
struct HeavyBall {
  static constexpr Use kOperands[] = {Use::kParameters, Use::kRead, Use::kChanged};
  static constexpr bool kMayPull = true, kMayDecay = true, kAnswers = true;
  SgdStep step;

  template <class Move>
  EAVE_ANY_DEVICE Mask operator()(const Move& move, float& x, float g, float& velocity) const {
    const float v = step.momentum * velocity + step.gradient_scale * (step.clip * g + step.weight_decay * x);
    const Mask mask = move(x, x, -step.step_scale * v);
    velocity = selected(v, velocity, mask);
    return mask;
  }
};

// SgdStep with Nesterov's momentum. 20 bytes.
struct Nesterov {
  static constexpr Use kOperands[] = {Use::kParameters, Use::kRead, Use::kChanged};
  static constexpr bool kMayPull = true, kMayDecay = true, kAnswers = true;
  SgdStep step;

  template <class Move>
  EAVE_ANY_DEVICE Mask operator()(const Move& move, float& x, float g, float& velocity) const {
    const float s = step.gradient_scale * (step.clip * g + step.weight_decay * x);
    const float v = step.momentum * velocity + s;
    const float iterate = x + step.step_scale * step.momentum * velocity;
    const Mask mask = move(x, iterate, -step.step_scale * (s + step.momentum * v));
    velocity = selected(v, velocity, mask);
    return mask;
  }
};

// AdamwStep. 28 bytes. A gradient's square may overflow although the gradient does not. The step would be 0 then, and
// stay 0 for ever. So such an element keeps its values.
struct Adamw {
  static constexpr Use kOperands[] = {Use::kParameters, Use::kRead, Use::kChanged, Use::kChanged};
  static constexpr bool kMayPull = true, kMayDecay = true, kAnswers = true;
  AdamwStep step;

  template <class Move>
  EAVE_ANY_DEVICE Mask operator()(const Move& move, float& x, float gradient, float& first, float& second) const {
    const float g = step.clip * gradient;
    const float m = step.beta1 * first + step.fresh1 * g;
    const float v = step.beta2 * second + step.fresh2 * (g * g);
    const float s = step.decay * x + step.rate * m / (std::sqrt(v) * step.root_scale + step.epsilon);
    const Mask mask = move(x, x, selected(-s, v, mask_of_finite(v)));
    first = selected(m, first, mask);
    second = selected(v, second, mask);
    return mask;
  }
};

// The pull alone. 16 bytes, or 24 if the center is behind.
struct PullAlone {
  static constexpr Use kOperands[] = {Use::kParameters};
  static constexpr bool kMayPull = true;

  template <class Move>
  EAVE_ANY_DEVICE Mask operator()(const Move& move, float& x) const {
    return move(x, x, 0.0f);
  }
};

// The pull alone, of parameters that are ahead of their iterate. 20 bytes, or 28 if the center is behind.
struct PullAhead {
  static constexpr Use kOperands[] = {Use::kParameters, Use::kRead};
  static constexpr bool kMayPull = true;
  float factor;

  template <class Move>
  EAVE_ANY_DEVICE Mask operator()(const Move& move, float& x, float velocity) const {
    return move(x, x + factor * velocity, 0.0f);
  }
};

}  // namespace eave::passes
