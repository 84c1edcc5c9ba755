// Clipping by the norm of the whole gradient (--clip-norm; Pascanu, Mikolov, Bengio 2013, algorithm 1):
//     g <- g min(1, limit / |g|)
#pragma once

#include <cmath>
#include <limits>

namespace eave {

// The factor on a gradient with this norm. It is NaN if the norm is not finite. Then no element takes its step, because
// the share of each would be unknown.
inline float clip_factor(double norm, double limit) {
  if (!std::isfinite(norm)) return std::numeric_limits<float>::quiet_NaN();
  return norm > limit ? static_cast<float>(limit / norm) : 1;
}

}  // namespace eave
