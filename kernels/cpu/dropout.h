// Dropout whose pattern depends only on counters.
#pragma once

#include <cstdint>

#include "eave/random.h"

namespace eave::cpu {

// output = input × (kept ? 1/(1 − rate) : 0) for one sample of `size` values. The i-th value is kept when its 16 bits
// of the sequence (key, counter) are at least rate × 2^16. output may be input.
void dropout(const RandomKey& key, std::uint64_t counter, float rate, std::int64_t size, const float* input,
             float* output);

}  // namespace eave::cpu
