#include <algorithm>

#include "kernels/cpu/multiversion.h"
#include "kernels/cpu/tokens.h"

namespace eave::cpu {

EAVE_MULTIVERSION void rotate(const Rotary& rotary, const float* cosines, const float* sines, const float* input,
                              float* output) {
  const std::int64_t half = rotary.width / 2, copied = rotary.copied * rotary.width;
  for (std::int64_t row = 0; row < rotary.samples * rotary.positions; ++row) {
    const float* const c = cosines + row % rotary.positions * half;
    const float* const s = sines + row % rotary.positions * half;
    for (std::int64_t head = 0; head < rotary.turned; ++head, input += rotary.width, output += rotary.width) {
      for (std::int64_t i = 0; i < half; ++i) {
        const float first = input[i], second = input[half + i];
        output[i] = first * c[i] - second * s[i];
        output[half + i] = second * c[i] + first * s[i];
      }
    }
    output = std::copy_n(input, copied, output);
    input += copied;
  }
}

EAVE_MULTIVERSION void multiply(const float* a, const float* b, float* product, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) product[i] = a[i] * b[i];
}

}  // namespace eave::cpu
