// The numbers of one pass over all parameters: a step of an optimizer, an elastic pull, a step of an outer optimizer.
#pragma once

#include <cstddef>

#include "eave/slice.h"

namespace eave {

// Weight decay may differ between tensors. Then a vector in the device's memory has one number for each block of this
// many parameters, a factor on the weight decay of the block: 0 or 1. Tensors begin at multiples of the block.
inline constexpr std::size_t kDecayBlock = 16;

// Nesterov's method keeps the parameters at y = x + δv, the point ahead of the iterate x at which it takes the next
// gradient. The iterate is x = y + factor·velocity; with v = −η·velocity, factor = η·δ. If `velocity` is empty, the
// parameters are the iterate.
struct Ahead {
  ConstSlice velocity;
  float factor = 0;
};

// Asks the optimizer to apply the elastic pull in the same pass over the parameters as this step's update. The pull is
// computed from the values before the update:
//     [center ← center + difference;]  difference = alpha·(x − center);  x ← x − (optimizer's step) − difference.
// The first assignment takes place only if `center_is_behind`: then `difference` holds the sum of the last exchange.
// If an optimizer's parameters are ahead of the iterate, x in the difference is the iterate. `center` and `difference`
// are as large as the parameters. (Zhang, Choromanska, LeCun 2015, equation 5.)
struct Pull {
  Slice center;
  float alpha = 0;
  Slice difference;
  bool center_is_behind = false;
};

// One step of SGD with momentum:
//     g' = clip·g + weight_decay·x;  v ← momentum·v + gradient_scale·g';  x ← x − step_scale·s,
// where s = v, or with `nesterov` s = gradient_scale·g' + momentum·v (the new v).
// (gradient_scale, step_scale) = (1, η) keeps the learning rate out of v; with (η, 1), v contains it.
struct SgdStep {
  float gradient_scale = 1;
  float step_scale = 0;
  float momentum = 0;
  float weight_decay = 0;
  float clip = 1;  // factor on the gradient; NaN: no element takes its step
  bool nesterov = false;
};

// One step of AdamW (Loshchilov, Hutter 2019):
//     m ← β₁m + (1 − β₁)g;  v ← β₂v + (1 − β₂)g²;  x ← x − decay·x − rate·m / (√v·root_scale + ε),
// where g is the gradient times clip.
// The scalars contain both bias corrections: rate = η / (1 − β₁ᵗ), root_scale = 1 / √(1 − β₂ᵗ).
struct AdamwStep {
  float rate = 0;
  float root_scale = 1;
  float beta1 = 0, fresh1 = 1;  // fresh = 1 − β, computed in double: 1 − 0.999f is off by 1e-5
  float beta2 = 0, fresh2 = 1;
  float epsilon = 0;
  float decay = 0;  // η · weight decay
  float clip = 1;   // factor on the gradient; NaN: no element takes its step
};

// One step of an outer optimizer. The workers began at center − ahead·v and moved to their mean, so the outer gradient
// is G = center − ahead·v − mean. The step is
//     v ← momentum·v + scale·G;  center ← center − carry·v_old − step·G;  mean ← center − ahead·v.
// With carry_left = carry − ahead, the center is computed as mean − (carry_left·v_old + step·G − G). This is the same
// up to rounding, and equals the mean bit by bit if carry_left = 0 and step = 1.
struct OuterKernelStep {
  float momentum = 0;
  float scale = 1;
  float carry_left = 0;
  float step = 1;
  float ahead = 0;
};

}  // namespace eave
