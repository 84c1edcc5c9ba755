// The outer step of methods that treat the way the workers have gone since the last exchange as one gradient. Each
// element is computed without fused multiply-add, so equal inputs give equal bits on every x86-64. If an element's new
// center would not be finite, its center and velocity stay as they were, and the workers go on from there.
#pragma once

#include "eave/slice.h"

namespace eave::cpu {

// Slices have equal sizes and do not overlap. 24 bytes moved per parameter.
void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step);

}  // namespace eave::cpu
