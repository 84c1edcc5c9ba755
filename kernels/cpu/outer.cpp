#include "kernels/cpu/outer.h"

#include <cstddef>

#include "kernels/cpu/finite.h"
#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

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

void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step) {
  run_outer(center.data(), velocity.data(), mean.data(), center.size(), step);
}

}  // namespace eave::cpu
