#include "kernels/cpu/update.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "eave/update_steps.h"
#include "kernels/cpu/finite.h"
#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

enum class Momentum { kNone, kHeavyBall, kNesterov };

enum class Elastic { kNone, kPull, kArriveAndPull };

Elastic elastic_of(const Pull& pull) { return pull.center_is_behind ? Elastic::kArriveAndPull : Elastic::kPull; }

const float* velocity_of(const Ahead& ahead) { return ahead.velocity.empty() ? nullptr : ahead.velocity.data(); }

// Moves one element. `x` is the parameter and `iterate` the iterate, both from before the step; the optimizer adds
// `change`. Returns a mask: 0 if the new value would not be finite, so that the element stays as it was. Such an
// element takes no part in the exchange either, which keeps the sum of workers and center unchanged.
template <Elastic kElastic>
EAVE_INLINE std::int32_t move(float* __restrict parameters, float x, float iterate, float change,
                              float* __restrict center, float* __restrict difference, float alpha, std::size_t i) {
  float d = 0;
  if constexpr (kElastic != Elastic::kNone) {
    float c = center[i];
    if constexpr (kElastic == Elastic::kArriveAndPull) {
      const float sum = difference[i];
      center[i] = c += masked(sum, mask_of_finite(c + sum));
    }
    d = alpha * (iterate - c);
  }
  const float moved = kElastic == Elastic::kNone ? x + change : x + change - d;
  // Adds again, zeros if the element stays: a selection would become a branch and a masked store.
  const std::int32_t mask = mask_of_finite(moved);
  parameters[i] = x + masked(change, mask);
  if constexpr (kElastic != Elastic::kNone) parameters[i] -= difference[i] = masked(d, mask);
  return mask;
}

// There are many arrays and little work per value, so one core alone has too few loads in flight. Prefetch, for
// writing, the values that are needed some blocks later. 3.3 M parameters in memory take 1.5 ms instead of 2.1, and
// with a pull 3.2 instead of 3.6 (Intel Xeon). Prefetches beyond the end fetch nothing that is used.
constexpr std::size_t kBlock = 128, kAheadOf = 512, kLine = 16;  // values

template <bool... kIsUsed, class... Stream>
EAVE_INLINE void fetch(std::size_t begin, const Stream*... streams) {
  for (std::size_t i = begin; i < begin + kBlock; i += kLine)
    ((kIsUsed ? __builtin_prefetch(streams + i, 1) : void()), ...);
}

// Returns the mask. It tests only the parameter: if the velocity is not finite, neither is the step.
template <Momentum kMomentum, Elastic kElastic>
EAVE_INLINE std::int32_t move_by_sgd(float* __restrict parameters, const float* __restrict gradients,
                                     float* __restrict velocity, const SgdStep& step, float* __restrict center,
                                     float* __restrict difference, float alpha, std::size_t i) {
  const float x = parameters[i];
  float s = step.gradient_scale * (gradients[i] + step.weight_decay * x), iterate = x, old = 0, v = 0;
  if constexpr (kMomentum != Momentum::kNone) {
    old = velocity[i];
    v = step.momentum * old + s;
    if constexpr (kMomentum == Momentum::kNesterov) iterate = x + step.step_scale * step.momentum * old;
    s = kMomentum == Momentum::kNesterov ? s + step.momentum * v : v;
  }
  const std::int32_t mask = move<kElastic>(parameters, x, iterate, -step.step_scale * s, center, difference, alpha, i);
  if constexpr (kMomentum != Momentum::kNone) velocity[i] = selected(v, old, mask);
  return mask;
}

// Returns whether all elements moved. So do the functions below.
template <Momentum kMomentum, Elastic kElastic>
EAVE_INLINE bool pass_sgd(float* __restrict parameters, const float* __restrict gradients, float* __restrict velocity,
                          std::size_t size, const SgdStep& step, float* __restrict center, float* __restrict difference,
                          float alpha) {
  constexpr bool kMoves = kMomentum != Momentum::kNone, kPulls = kElastic != Elastic::kNone;
  std::int32_t all = -1;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    fetch<true, true, kMoves, kPulls, kPulls>(begin + kAheadOf, parameters, gradients, velocity, center, difference);
    const std::size_t end = std::min(size, begin + kBlock);
    for (std::size_t i = begin; i < end; ++i)
      all &= move_by_sgd<kMomentum, kElastic>(parameters, gradients, velocity, step, center, difference, alpha, i);
  }
  return all != 0;
}

// A gradient's square may overflow although the gradient does not. The step would be 0 then, and stay 0 for ever. So
// such an element keeps its values.
template <Elastic kElastic>
EAVE_INLINE std::int32_t move_by_adamw(float* __restrict parameters, const float* __restrict gradients,
                                       float* __restrict first, float* __restrict second, const AdamwStep& step,
                                       float* __restrict center, float* __restrict difference, float alpha,
                                       std::size_t i) {
  const float x = parameters[i], g = gradients[i], old_first = first[i], old_second = second[i];
  const float m = step.beta1 * old_first + step.fresh1 * g;
  const float v = step.beta2 * old_second + step.fresh2 * (g * g);
  const float s = step.decay * x + step.rate * m / (std::sqrt(v) * step.root_scale + step.epsilon);
  const float change = is_finite(v) ? -s : std::numeric_limits<float>::infinity();
  const std::int32_t mask = move<kElastic>(parameters, x, x, change, center, difference, alpha, i);
  first[i] = selected(m, old_first, mask);
  second[i] = selected(v, old_second, mask);
  return mask;
}

template <Elastic kElastic>
EAVE_INLINE bool pass_adamw(float* __restrict parameters, const float* __restrict gradients, float* __restrict first,
                            float* __restrict second, std::size_t size, const AdamwStep& step, float* __restrict center,
                            float* __restrict difference, float alpha) {
  constexpr bool kPulls = kElastic != Elastic::kNone;
  std::int32_t all = -1;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    fetch<true, true, true, true, kPulls, kPulls>(begin + kAheadOf, parameters, gradients, first, second, center,
                                                  difference);
    const std::size_t end = std::min(size, begin + kBlock);
    for (std::size_t i = begin; i < end; ++i)
      all &= move_by_adamw<kElastic>(parameters, gradients, first, second, step, center, difference, alpha, i);
  }
  return all != 0;
}

template <Elastic kElastic>
EAVE_INLINE bool choose_sgd(float* __restrict x, const float* __restrict g, float* __restrict v, std::size_t size,
                            Momentum momentum, const SgdStep& step, float* __restrict c, float* __restrict d,
                            float alpha) {
  switch (momentum) {
    case Momentum::kNone:
      return pass_sgd<Momentum::kNone, kElastic>(x, g, v, size, step, c, d, alpha);
    case Momentum::kHeavyBall:
      return pass_sgd<Momentum::kHeavyBall, kElastic>(x, g, v, size, step, c, d, alpha);
    case Momentum::kNesterov:
      return pass_sgd<Momentum::kNesterov, kElastic>(x, g, v, size, step, c, d, alpha);
  }
  return true;
}

// The functions below repeat __restrict, although the inlined loops have it. Without it the compiler would check six
// arrays for overlap at run time, which is too many, and give up on vectors.
EAVE_MULTIVERSION bool run_sgd(float* __restrict x, const float* __restrict g, float* __restrict v, std::size_t size,
                               Momentum momentum, SgdStep step) {
  return choose_sgd<Elastic::kNone>(x, g, v, size, momentum, step, nullptr, nullptr, 0);
}

EAVE_MULTIVERSION bool run_sgd_elastic(float* __restrict x, const float* __restrict g, float* __restrict v,
                                       std::size_t size, Momentum momentum, SgdStep step, float* __restrict c,
                                       float* __restrict d, float alpha, Elastic elastic) {
  return elastic == Elastic::kPull ? choose_sgd<Elastic::kPull>(x, g, v, size, momentum, step, c, d, alpha)
                                   : choose_sgd<Elastic::kArriveAndPull>(x, g, v, size, momentum, step, c, d, alpha);
}

EAVE_MULTIVERSION bool run_adamw(float* __restrict x, const float* __restrict g, float* __restrict m,
                                 float* __restrict v, std::size_t size, AdamwStep step) {
  return pass_adamw<Elastic::kNone>(x, g, m, v, size, step, nullptr, nullptr, 0);
}

EAVE_MULTIVERSION bool run_adamw_elastic(float* __restrict x, const float* __restrict g, float* __restrict m,
                                         float* __restrict v, std::size_t size, AdamwStep step, float* __restrict c,
                                         float* __restrict d, float alpha, Elastic elastic) {
  return elastic == Elastic::kPull ? pass_adamw<Elastic::kPull>(x, g, m, v, size, step, c, d, alpha)
                                   : pass_adamw<Elastic::kArriveAndPull>(x, g, m, v, size, step, c, d, alpha);
}

// The iterate that the parameters are ahead of.
template <bool kAhead>
EAVE_INLINE float iterate_of(const float* __restrict x, const float* __restrict v, float factor, std::size_t i) {
  if constexpr (kAhead) return x[i] + factor * v[i];
  return x[i];
}

template <Elastic kElastic, bool kAhead>
EAVE_INLINE void pass_pull(float* __restrict x, float* __restrict c, float* __restrict d, std::size_t size, float alpha,
                           const float* __restrict v, float factor) {
  for (std::size_t i = 0; i < size; ++i) {
    move<kElastic>(x, x[i], iterate_of<kAhead>(x, v, factor, i), 0.0f, c, d, alpha, i);
  }
}

EAVE_MULTIVERSION void run_pull(float* __restrict x, float* __restrict c, float* __restrict d, std::size_t size,
                                float alpha, Elastic elastic, const float* __restrict v, float factor) {
  if (v == nullptr) {
    elastic == Elastic::kPull ? pass_pull<Elastic::kPull, false>(x, c, d, size, alpha, v, factor)
                              : pass_pull<Elastic::kArriveAndPull, false>(x, c, d, size, alpha, v, factor);
  } else {
    elastic == Elastic::kPull ? pass_pull<Elastic::kPull, true>(x, c, d, size, alpha, v, factor)
                              : pass_pull<Elastic::kArriveAndPull, true>(x, c, d, size, alpha, v, factor);
  }
}

template <bool kAhead>
EAVE_INLINE void pass_difference(float* __restrict d, const float* __restrict x, const float* __restrict c,
                                 std::size_t size, float scale, const float* __restrict v, float factor) {
  for (std::size_t i = 0; i < size; ++i) d[i] = scale * (iterate_of<kAhead>(x, v, factor, i) - c[i]);
}

EAVE_MULTIVERSION void run_difference(float* __restrict d, const float* __restrict x, const float* __restrict c,
                                      std::size_t size, float scale, const float* __restrict v, float factor) {
  v == nullptr ? pass_difference<false>(d, x, c, size, scale, v, factor)
               : pass_difference<true>(d, x, c, size, scale, v, factor);
}

EAVE_MULTIVERSION void run_center(float* __restrict c, const float* __restrict sum, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) c[i] = finite_or(c[i] + sum[i], c[i]);
}

template <bool kAhead>
EAVE_INLINE void pass_follow(float* __restrict c, const float* __restrict sum, float* __restrict x, std::size_t size,
                             float keep, const float* __restrict v, float factor) {
  for (std::size_t i = 0; i < size; ++i) {
    const float iterate = iterate_of<kAhead>(x, v, factor, i), moved = finite_or(c[i] + sum[i], c[i]);
    float followed = moved + keep * (iterate - moved);
    c[i] = moved;
    if constexpr (kAhead) followed -= factor * v[i];
    x[i] = finite_or(followed, x[i]);
  }
}

EAVE_MULTIVERSION void run_center_and_follow(float* __restrict c, const float* __restrict sum, float* __restrict x,
                                             std::size_t size, float keep, const float* __restrict v, float factor) {
  v == nullptr ? pass_follow<false>(c, sum, x, size, keep, v, factor)
               : pass_follow<true>(c, sum, x, size, keep, v, factor);
}

}  // namespace

bool update_sgd(Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step, const Pull* pull) {
  const Momentum momentum = velocity.empty() ? Momentum::kNone
                            : step.nesterov  ? Momentum::kNesterov
                                             : Momentum::kHeavyBall;
  if (pull != nullptr) {
    return run_sgd_elastic(parameters.data(), gradients.data(), velocity.data(), parameters.size(), momentum, step,
                           pull->center.data(), pull->difference.data(), pull->alpha, elastic_of(*pull));
  }
  return run_sgd(parameters.data(), gradients.data(), velocity.data(), parameters.size(), momentum, step);
}

bool update_adamw(Slice parameters, ConstSlice gradients, Slice first, Slice second, const AdamwStep& step,
                  const Pull* pull) {
  if (pull != nullptr) {
    return run_adamw_elastic(parameters.data(), gradients.data(), first.data(), second.data(), parameters.size(), step,
                             pull->center.data(), pull->difference.data(), pull->alpha, elastic_of(*pull));
  }
  return run_adamw(parameters.data(), gradients.data(), first.data(), second.data(), parameters.size(), step);
}

void pull_parameters(Slice parameters, const Pull& pull, const Ahead& ahead) {
  run_pull(parameters.data(), pull.center.data(), pull.difference.data(), parameters.size(), pull.alpha,
           elastic_of(pull), velocity_of(ahead), ahead.factor);
}

void write_difference(Slice difference, ConstSlice parameters, ConstSlice center, float scale, const Ahead& ahead) {
  run_difference(difference.data(), parameters.data(), center.data(), difference.size(), scale, velocity_of(ahead),
                 ahead.factor);
}

void move_center(Slice center, ConstSlice sum) { run_center(center.data(), sum.data(), center.size()); }

void move_center_and_follow(Slice center, ConstSlice sum, Slice parameters, float alpha, const Ahead& ahead) {
  run_center_and_follow(center.data(), sum.data(), parameters.data(), center.size(), 1 - alpha, velocity_of(ahead),
                        ahead.factor);
}

}  // namespace eave::cpu
