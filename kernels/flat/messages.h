// Passes over messages: the values that workers send, the averages that they keep, and the update of a shard of a
// center when a message arrives.
#pragma once

#include "kernels/flat/expression.h"

namespace eave::passes {

// average ← (1 − share)·average + share·values, where the average is average + rest. `rest` keeps what float32 rounds
// away when share is small; without it, an average of a million values would stop moving. 20 bytes.
struct MoveAverage {
  static constexpr Use kOperands[] = {Use::kChanged, Use::kChanged, Use::kRead};
  static constexpr bool kMayBeAhead = true;
  float share;

  template <class At>
  EAVE_ANY_DEVICE void operator()(const At& at, float& average, float& rest, float value) const {
    const float step = rest + share * ((at.iterate_of(value) - average) - rest);
    const float sum = average + step;
    const Mask moves = mask_of_finite(sum);
    rest = selected(step - (sum - average), rest, moves);
    average = selected(sum, average, moves);
  }
};

// into = the iterate of parameters that are ahead of it, or with −factor the parameters of an iterate. 12 bytes.
struct WriteIterate {
  static constexpr Use kOperands[] = {Use::kWritten, Use::kRead, Use::kRead};
  float factor;

  EAVE_ANY_DEVICE void operator()(float& into, float x, float velocity) const {
    into = finite_or(x + factor * velocity, x);
  }
};

// message ← x − message. 12 bytes.
struct WriteDisplacement {
  static constexpr Use kOperands[] = {Use::kChanged, Use::kRead};
  static constexpr bool kMayBeAhead = true;

  template <class At>
  EAVE_ANY_DEVICE void operator()(const At& at, float& message, float x) const {
    message = at.iterate_of(x) - message;
  }
};

// into = −rate·(gradient + decay·x). 12 bytes.
struct WriteStep {
  static constexpr Use kOperands[] = {Use::kWritten, Use::kRead, Use::kRead};
  float rate, decay;

  EAVE_ANY_DEVICE void operator()(float& into, float x, float g) const {
    into = finite_or(-rate * (g + decay * x), 0.0f);
  }
};

// Message x becomes d = alpha·(x − center);  center ← center + d. 16 bytes.
struct MeetElastically {
  static constexpr Use kOperands[] = {Use::kChanged, Use::kChanged};
  float alpha;

  EAVE_ANY_DEVICE void operator()(float& center, float& message) const {
    const float d = alpha * (message - center), moved = center + d;
    center = finite_or(moved, center);
    message = is_finite(moved) ? d : 0.0f;
  }
};

// center ← center + v, and the message v becomes the new center. 16 bytes.
struct PushAndPull {
  static constexpr Use kOperands[] = {Use::kChanged, Use::kChanged};

  EAVE_ANY_DEVICE void operator()(float& center, float& message) const {
    message = center = finite_or(center + message, center);
  }
};

// Message s = −η·g:  v ← momentum·v + s;  center ← center + v;  the message becomes center + momentum·v. 24 bytes.
struct PushIntoVelocity {
  static constexpr Use kOperands[] = {Use::kChanged, Use::kChanged, Use::kChanged};
  float momentum;

  EAVE_ANY_DEVICE void operator()(float& center, float& velocity, float& message) const {
    const float v = momentum * velocity + message, moved = center + v;
    const Mask moves = mask_of_finite(moved);
    velocity = selected(v, velocity, moves);
    center = selected(moved, center, moves);
    message = finite_or(center + momentum * velocity, center);
  }
};

}  // namespace eave::passes
