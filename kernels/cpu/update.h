// One optimizer step over all parameters, elastic pull included, in a single pass. It is the memory-bound end of every
// step.
//
// Each element is computed by the same IEEE operations whatever the vector width; fused multiply-add is off for this
// file. So equal inputs give equal bits on every x86-64, and replicas that must stay identical do so on mixed clusters.
//
// A value that is not finite is never written. If an element's new parameter would not be finite, the element keeps its
// parameter and the optimizer's values, and its difference is 0. An element of the center whose new value would not be
// finite stays. The steps return whether all elements moved.
//
// Slices of one call have equal sizes and do not overlap. The bytes moved per parameter stand beside each function.
#pragma once

#include "eave/slice.h"
#include "eave/update_steps.h"

namespace eave::cpu {

// `velocity` is empty if momentum is 0. 12 bytes, or 20 with velocity. `pull` may be null; it adds 8 bytes, and 8 more
// if the center is behind.
bool update_sgd(Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step, const Pull* pull);

// 28 bytes. `pull` may be null; it adds 8 bytes, and 8 more if the center is behind.
bool update_adamw(Slice parameters, ConstSlice gradients, Slice first, Slice second, const AdamwStep& step,
                  const Pull* pull);

// In the functions below, if parameters are `ahead` of the iterate, x stands for the iterate, and the parameters move
// by as much as it does.

// The pull without an optimizer's step. 16 bytes, or 24 if the center is behind.
void pull_parameters(Slice parameters, const Pull& pull, const Ahead& ahead = {});

// difference = scale·(x − center). 12 bytes.
void write_difference(Slice difference, ConstSlice parameters, ConstSlice center, float scale, const Ahead& ahead = {});

// center ← center + sum. 12 bytes. It is a single addition, so every rank gets the same bits.
void move_center(Slice center, ConstSlice sum);

// center ← center + sum;  x ← center + (1 − alpha)·(x − center). With alpha = 1, x becomes the center exactly. 20
// bytes.
void move_center_and_follow(Slice center, ConstSlice sum, Slice parameters, float alpha, const Ahead& ahead = {});

}  // namespace eave::cpu
