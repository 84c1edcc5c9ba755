// The outer step of the methods that treat the way their workers have gone since the last exchange as one gradient.
// Element by element, without fused multiply-add: equal inputs give equal bits on every x86-64.
// Where the new center would not be finite, center and velocity stay, and the workers go on from there.
#pragma once

#include "eave/slice.h"

namespace eave::cpu {

// Slices are equally large and do not overlap. 24 bytes moved per parameter.
void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step);

}  // namespace eave::cpu
