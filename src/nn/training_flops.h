// The arithmetic of a language model's training step.
#pragma once

#include <string>

#include "eave/batch.h"

namespace eave {

// Floating-point operations of forward and backward for each token: 6 N + 12 L H Q T, as in Chowdhery et al. 2022
// (PaLM), appendix B. N are the weights of linear layers, and the table of tokens if the output multiplies by it. A
// table that is only looked up does not count. L H Q is the sum of all heads' widths over all attention layers, and T
// the number of positions. Neither the causal mask, which allows half of it to be left out, nor biases, norms and
// activations count. Throws as Model's constructor does.
double training_flops_per_token(const std::string& specification, ImageShape input, int classes);

}  // namespace eave
