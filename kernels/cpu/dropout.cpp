#include <algorithm>
#include <cmath>

#include "kernels/cpu/layers.h"

namespace eave::cpu {

void dropout(const RandomKey& key, std::uint64_t counter, float rate, std::int64_t size, const float* input,
             float* output) {
  RandomStream stream(key, counter);
  const auto threshold = static_cast<std::uint32_t>(std::lround(rate * 65536.0f));
  const float factor = 1.0f / (1.0f - rate);
  for (std::int64_t i = 0; i < size; i += 2) {
    const std::uint32_t word = stream.next_word();
    output[i] = (word & 0xffff) >= threshold ? input[i] * factor : 0;
    if (i + 1 < size) output[i + 1] = (word >> 16) >= threshold ? input[i + 1] * factor : 0;
  }
}

}  // namespace eave::cpu
