// Chooses the next token of a text from the model's logits.
#pragma once

#include <cstdint>
#include <vector>

#include "eave/slice.h"

namespace eave {

struct TokenChoice {
  double temperature = 1;  // logits are divided by it; 0: the most probable token
  std::int64_t top_k = 0;  // only this many of the most probable tokens; 0: all
  double top_p = 1;        // of these, only the most probable ones whose shares first reach this sum
};

// Draws a token with the probabilities softmax(logits / temperature), cut as `choice` says and divided by their sum.
// `number` is uniform in [0, 1). The same arguments give the same token. Of equally probable tokens, the lower number
// comes first. top_k: Fan, Lewis, Dauphin 2018, section 3.3. top_p, after top_k: Holtzman et al. 2020, section 3.1.
// `logits` are finite, at least one.
std::int32_t choose_token(ConstSlice logits, const TokenChoice& choice, double number);

}  // namespace eave
