#include "kernels/cpu/outer.h"

#include <cstddef>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

EAVE_MULTIVERSION void run_outer(float* __restrict c, float* __restrict v, float* __restrict x, std::size_t size,
                                 const OuterKernelStep step) {
  for (std::size_t i = 0; i < size; ++i) {
    const float old = v[i];
    const float way = (c[i] - step.ahead * old) - x[i];
    v[i] = step.momentum * old + step.scale * way;
    c[i] = x[i] - ((step.carry_left * old + step.step * way) - way);
    x[i] = c[i] - step.ahead * v[i];
  }
}

}  // namespace

void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step) {
  run_outer(center.data(), velocity.data(), mean.data(), center.size(), step);
}

}  // namespace eave::cpu
