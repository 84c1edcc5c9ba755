// Views of numbers. A Slice is a stretch of float32 on the device of its replica; it owns nothing.
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

}  // namespace eave
