// The outer step of the methods that treat the way their workers have gone since the last exchange as one gradient.
// Element by element, without fused multiply-add: equal inputs give equal bits on every x86-64.
#pragma once

#include "eave/slice.h"

namespace eave::cpu {

// Workers began at center − ahead·v and ended at their mean, G = center − ahead·v − mean:
//   v ← momentum·v + scale·G;  center ← center − carry·v_old − step·G;  the mean becomes center − ahead·v.
// carry_left = carry − ahead. The center is computed as mean − (carry_left·v_old + step·G − G), the same but for
// rounding, which is the mean bit by bit where carry_left = 0 and step = 1.
struct OuterKernelStep {
  float momentum = 0;
  float scale = 1;
  float carry_left = 0;
  float step = 1;
  float ahead = 0;
};

// Slices are equally large and do not overlap. 24 bytes moved per parameter.
void step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step);

}  // namespace eave::cpu
