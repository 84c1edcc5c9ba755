// The message of a run that ends because a step is not finite.
#pragma once

#include <cstdint>
#include <string>

#include "base/options/number_text.h"

namespace eave {

// `what` was not finite, such as "loss"; `step`: its step, from 1; `where`: the ranks, such as " on rank 2".
// `in_a_row`: how many steps up to this one. `smaller`: what to try, such as "a smaller --lr".
inline std::string divergence_text(const std::string& what, std::int64_t step, const std::string& where,
                                   std::int64_t in_a_row, double learning_rate, const std::string& smaller) {
  return "training diverged: the " + what + " of step " + std::to_string(step) + " is not finite" + where +
         (in_a_row > 1 ? ", as in the " + count_text(in_a_row - 1, "step") + " before" : "") + " (learning rate " +
         number_text(learning_rate) + "); try " + smaller + ", or warm-up";
}

}  // namespace eave
