// The parameter-free shortcut past layers that shrink an image and widen it.
#pragma once

#include <cstdint>

namespace eave::cpu {

struct ShortcutGeometry {
  std::int64_t samples = 0;
  int height = 0, width = 0, channels = 0;  // of the input
  int rows = 0, columns = 0, outputs = 0;   // of the output
  int stride = 1;
};

// Takes every stride-th pixel, and adds zero channels on both sides.
void shortcut(const ShortcutGeometry& shape, const float* input, float* output);
void shortcut_gradient(const ShortcutGeometry& shape, const float* d_output, float* d_input);

}  // namespace eave::cpu
