// Views of numbers. A Slice is a stretch of float32 on the device of its replica; it owns nothing.
#pragma once

#include <span>

namespace eave {

using Slice = std::span<float>;
using ConstSlice = std::span<const float>;

// Asks the optimizer to add the elastic pull to this step's update, in the same pass over the parameters, from the
// values before the update. With center_is_behind, `difference` comes in as the sum that the last exchange brought:
//     [center ← center + difference;]  difference = alpha·(x − center);  x ← x − (optimizer's step) − difference.
// All three slices are as large as the parameters. (Zhang, Choromanska, LeCun 2015, equation 5.)
struct Pull {
  Slice center;
  float alpha = 0;
  Slice difference;
  bool center_is_behind = false;
};

}  // namespace eave
