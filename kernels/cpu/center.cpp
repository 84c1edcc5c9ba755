#include "kernels/cpu/center.h"

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

EAVE_MULTIVERSION void run_elastic(float* __restrict c, float* __restrict m, std::size_t size, float alpha) {
  for (std::size_t i = 0; i < size; ++i) {
    const float d = alpha * (m[i] - c[i]);
    c[i] += d;
    m[i] = d;
  }
}

EAVE_MULTIVERSION void run_push(float* __restrict c, float* __restrict m, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) m[i] = c[i] += m[i];
}

EAVE_MULTIVERSION void run_velocity(float* __restrict c, float* __restrict v, float* __restrict m, std::size_t size,
                                    float momentum) {
  for (std::size_t i = 0; i < size; ++i) {
    v[i] = momentum * v[i] + m[i];
    c[i] += v[i];
    m[i] = c[i] + momentum * v[i];
  }
}

EAVE_MULTIVERSION void run_average(float* __restrict z, const float* __restrict c, std::size_t size, float keep,
                                   float share) {
  for (std::size_t i = 0; i < size; ++i) z[i] = keep * z[i] + share * c[i];
}

EAVE_MULTIVERSION void run_iterate(float* __restrict into, const float* __restrict x, const float* __restrict v,
                                   std::size_t size, float factor) {
  for (std::size_t i = 0; i < size; ++i) into[i] = x[i] + factor * v[i];
}

EAVE_MULTIVERSION void run_subtract(float* __restrict x, const float* __restrict d, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) x[i] -= d[i];
}

}  // namespace

void meet_elastically(Slice center, Slice message, float alpha) {
  run_elastic(center.data(), message.data(), center.size(), alpha);
}

void push_and_pull(Slice center, Slice message) { run_push(center.data(), message.data(), center.size()); }

void push_into_velocity(Slice center, Slice velocity, Slice message, float momentum) {
  run_velocity(center.data(), velocity.data(), message.data(), center.size(), momentum);
}

void move_average(Slice average, ConstSlice center, float share) {
  run_average(average.data(), center.data(), average.size(), 1 - share, share);
}

void write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead) {
  if (ahead.velocity.empty()) {
    std::ranges::copy(parameters, into.begin());
  } else {
    run_iterate(into.data(), parameters.data(), ahead.velocity.data(), into.size(), ahead.factor);
  }
}

void subtract(Slice parameters, ConstSlice difference) {
  run_subtract(parameters.data(), difference.data(), parameters.size());
}

}  // namespace eave::cpu
