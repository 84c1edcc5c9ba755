#include "kernels/cpu/center.h"

#include <algorithm>
#include <cstddef>

#include "eave/update_steps.h"
#include "kernels/cpu/finite.h"
#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

EAVE_MULTIVERSION void run_elastic(float* __restrict c, float* __restrict m, std::size_t size, float alpha) {
  for (std::size_t i = 0; i < size; ++i) {
    const float d = alpha * (m[i] - c[i]), moved = c[i] + d;
    c[i] = finite_or(moved, c[i]);
    m[i] = is_finite(moved) ? d : 0;
  }
}

EAVE_MULTIVERSION void run_push(float* __restrict c, float* __restrict m, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) m[i] = c[i] = finite_or(c[i] + m[i], c[i]);
}

EAVE_MULTIVERSION void run_velocity(float* __restrict c, float* __restrict v, float* __restrict m, std::size_t size,
                                    float momentum) {
  for (std::size_t i = 0; i < size; ++i) {
    const float velocity = momentum * v[i] + m[i], moved = c[i] + velocity;
    v[i] = is_finite(moved) ? velocity : v[i];
    c[i] = finite_or(moved, c[i]);
    m[i] = finite_or(c[i] + momentum * v[i], c[i]);
  }
}

// Moves z + rest towards `value`; `rest` takes what rounding drops from z.
EAVE_INLINE void move_towards(float& z, float& rest, float value, float share) {
  const float step = rest + share * ((value - z) - rest);
  const float sum = z + step;
  rest = is_finite(sum) ? step - (sum - z) : rest;
  z = finite_or(sum, z);
}

EAVE_MULTIVERSION void run_average(float* __restrict z, float* __restrict rest, const float* __restrict x,
                                   std::size_t size, float share) {
  for (std::size_t i = 0; i < size; ++i) move_towards(z[i], rest[i], x[i], share);
}

EAVE_MULTIVERSION void run_average_ahead(float* __restrict z, float* __restrict rest, const float* __restrict x,
                                         const float* __restrict v, std::size_t size, float share, float factor) {
  for (std::size_t i = 0; i < size; ++i) move_towards(z[i], rest[i], x[i] + factor * v[i], share);
}

EAVE_MULTIVERSION void run_iterate(float* __restrict into, const float* __restrict x, const float* __restrict v,
                                   std::size_t size, float factor) {
  for (std::size_t i = 0; i < size; ++i) into[i] = finite_or(x[i] + factor * v[i], x[i]);
}

EAVE_MULTIVERSION void run_displacement(float* __restrict m, const float* __restrict x, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) m[i] = x[i] - m[i];
}

EAVE_MULTIVERSION void run_displacement_ahead(float* __restrict m, const float* __restrict x, const float* __restrict v,
                                              std::size_t size, float factor) {
  for (std::size_t i = 0; i < size; ++i) m[i] = (x[i] + factor * v[i]) - m[i];
}

EAVE_MULTIVERSION void run_step(float* __restrict into, const float* __restrict x, const float* __restrict g,
                                std::size_t size, float rate, float decay) {
  for (std::size_t i = 0; i < size; ++i) into[i] = finite_or(-rate * (g[i] + decay * x[i]), 0);
}

EAVE_MULTIVERSION void run_subtract(float* __restrict x, const float* __restrict d, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) x[i] = finite_or(x[i] - d[i], x[i]);
}

EAVE_MULTIVERSION void run_outer(float* __restrict c, float* __restrict v, float* __restrict x, std::size_t size,
                                 const OuterKernelStep step) {
  for (std::size_t i = 0; i < size; ++i) {
    const float old = v[i];
    const float way = (c[i] - step.ahead * old) - x[i];
    const float velocity = step.momentum * old + step.scale * way;
    const float center = x[i] - ((step.carry_left * old + step.step * way) - way);
    const bool moves = is_finite(center - step.ahead * velocity) && is_finite(center) && is_finite(velocity);
    v[i] = moves ? velocity : old;
    c[i] = moves ? center : c[i];
    x[i] = c[i] - step.ahead * v[i];
  }
}

}  // namespace

void meet_elastically(Slice center, Slice message, float alpha) {
  run_elastic(center.data(), message.data(), center.size(), alpha);
}

void push_and_pull(Slice center, Slice message) { run_push(center.data(), message.data(), center.size()); }

void push_into_velocity(Slice center, Slice velocity, Slice message, float momentum) {
  run_velocity(center.data(), velocity.data(), message.data(), center.size(), momentum);
}

void move_average(Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead) {
  if (share == 1) {
    write_iterate(average, values, ahead);
    std::ranges::fill(rest, 0.0f);
  } else if (ahead.velocity.empty()) {
    run_average(average.data(), rest.data(), values.data(), average.size(), share);
  } else {
    run_average_ahead(average.data(), rest.data(), values.data(), ahead.velocity.data(), average.size(), share,
                      ahead.factor);
  }
}

void write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead) {
  if (ahead.velocity.empty()) {
    std::ranges::copy(parameters, into.begin());
  } else {
    run_iterate(into.data(), parameters.data(), ahead.velocity.data(), into.size(), ahead.factor);
  }
}

void write_displacement(Slice message, ConstSlice parameters, const Ahead& ahead) {
  if (ahead.velocity.empty()) {
    run_displacement(message.data(), parameters.data(), message.size());
  } else {
    run_displacement_ahead(message.data(), parameters.data(), ahead.velocity.data(), message.size(), ahead.factor);
  }
}

void write_parameters(Slice parameters, ConstSlice iterate, const Ahead& ahead) {
  write_iterate(parameters, iterate, {ahead.velocity, -ahead.factor});
}

void write_step(Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay) {
  run_step(into.data(), parameters.data(), gradients.data(), into.size(), rate, decay);
}

void subtract(Slice parameters, ConstSlice difference) {
  run_subtract(parameters.data(), difference.data(), parameters.size());
}

void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step) {
  run_outer(center.data(), velocity.data(), mean.data(), center.size(), step);
}

}  // namespace eave::cpu
