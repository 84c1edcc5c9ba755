#include <algorithm>

#include "kernels/cpu/layers.h"

namespace eave::cpu {
namespace {

// Calls visit(offset in the input, offset in the output) for each pixel that the shortcut copies.
template <class Visit>
void for_each_pixel(const ShortcutGeometry& s, Visit visit) {
  const int before = (s.outputs - s.channels) / 2;
  std::int64_t output = before;
  for (std::int64_t sample = 0; sample < s.samples; ++sample) {
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for (std::int64_t column = 0; column < s.columns; ++column, output += s.outputs) {
        visit(((sample * s.height + row * s.stride) * s.width + column * s.stride) * s.channels, output);
      }
    }
  }
}

}  // namespace

void shortcut(const ShortcutGeometry& s, const float* input, float* output) {
  std::fill_n(output, s.samples * s.rows * s.columns * s.outputs, 0.0f);
  for_each_pixel(s,
                 [&](std::int64_t from, std::int64_t into) { std::copy_n(input + from, s.channels, output + into); });
}

void shortcut_gradient(const ShortcutGeometry& s, const float* d_output, float* d_input) {
  std::fill_n(d_input, s.samples * s.height * s.width * s.channels, 0.0f);
  for_each_pixel(
      s, [&](std::int64_t into, std::int64_t from) { std::copy_n(d_output + from, s.channels, d_input + into); });
}

}  // namespace eave::cpu
