// One optimizer step over the flat arena, elastic pull included, in a single pass: the memory-bound end of every step.
//
// Each element is computed by the same IEEE operations whatever the vector width (fused multiply-add is off for this
// file), so equal inputs give equal bits on every x86-64: replicas that must stay identical do so on mixed clusters.
// Slices of one call are equally large and do not overlap. Bytes moved per parameter stand beside each function.
#pragma once

#include "eave/slice.h"
namespace eave::cpu {

// g' = g + weight_decay·x;  v ← momentum·v + gradient_scale·g';  x ← x − step_scale·s, where s = v, or with Nesterov
// s = gradient_scale·g' + momentum·v (the new v).
// (gradient_scale, step_scale) = (1, η) keeps v free of the learning rate; (η, 1) is the form in which v contains it.
struct SgdStep {
  float gradient_scale = 1;
  float step_scale = 0;
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
};

// `velocity` is empty when momentum is 0. 12 bytes, with velocity 20; the pull adds 8, the center's arrival 8 more.
// `pull` may be null.
void update_sgd(Slice parameters, ConstSlice gradients, Slice velocity, const SgdStep& step, const Pull* pull);

// m ← β₁m + (1 − β₁)g;  v ← β₂v + (1 − β₂)g²;  x ← x − decay·x − rate·m / (√v·root_scale + ε).
// (Loshchilov, Hutter 2019.) Both bias corrections are in the scalars: rate = η / (1 − β₁ᵗ), root_scale = 1 / √(1 −
// β₂ᵗ).
struct AdamwStep {
  float rate = 0;
  float root_scale = 1;
  float beta1 = 0, fresh1 = 1;  // fresh = 1 − β, rounded from double: 1 − 0.999f is off by 1e-5
  float beta2 = 0, fresh2 = 1;
  float epsilon = 0;
  float decay = 0;  // η · weight decay
};

// 28 bytes; the pull adds 8, the center's arrival 8 more. `pull` may be null.
void update_adamw(Slice parameters, ConstSlice gradients, Slice first, Slice second, const AdamwStep& step,
                  const Pull* pull);

// Where parameters are `ahead` of the iterate, x stands for the iterate in what follows, and the parameters move by as
// much as it does.

// The pull without a step. 16 bytes, with the center's arrival 24.
void pull_parameters(Slice parameters, const Pull& pull, const Ahead& ahead = {});

// difference = scale·(x − center). 12 bytes.
void write_difference(Slice difference, ConstSlice parameters, ConstSlice center, float scale, const Ahead& ahead = {});

// center ← center + sum. 12 bytes. One addition and nothing else, so that every rank gets the same bits.
void move_center(Slice center, ConstSlice sum);

// center ← center + sum;  x ← center + (1 − alpha)·(x − center): with alpha = 1, x becomes the center exactly. 20
// bytes.
void move_center_and_follow(Slice center, ConstSlice sum, Slice parameters, float alpha, const Ahead& ahead = {});

}  // namespace eave::cpu
