// Views of numbers, and what one pass over them does. A Slice is a stretch of float32 in the memory of its replica's
// device; it owns nothing. On a device other than the CPU it must not be dereferenced: Device reads and writes it.
#pragma once

#include <span>

namespace eave {

using Slice = std::span<float>;
using ConstSlice = std::span<const float>;

// Nesterov's method keeps parameters at the point y = x + δv where the next gradient is taken, ahead of the iterate x.
// The iterate is x = y + factor·velocity (factor = η·δ where v = −η·velocity). No velocity: parameters are the iterate.
struct Ahead {
  ConstSlice velocity;
  float factor = 0;
};

// Asks the optimizer to add the elastic pull to this step's update, in the same pass over the parameters, from the
// values before the update. With center_is_behind, `difference` comes in as the sum that the last exchange brought:
//     [center ← center + difference;]  difference = alpha·(x − center);  x ← x − (optimizer's step) − difference.
// An optimizer whose parameters are ahead of the iterate takes the difference of the iterate. All three slices are as
// large as the parameters. (Zhang, Choromanska, LeCun 2015, equation 5.)
struct Pull {
  Slice center;
  float alpha = 0;
  Slice difference;
  bool center_is_behind = false;
};

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

}  // namespace eave
