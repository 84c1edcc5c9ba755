// Pooling of NHWC images.
#pragma once

#include <cstdint>

namespace eave::cpu {

struct PoolGeometry {
  std::int64_t samples = 0;
  int height = 0, width = 0, channels = 0;  // of the input
  int rows = 0, columns = 0;                // of the output
  int window_height = 0, window_width = 0, stride = 0, pad = 0;
};

// `winners` gets the index of the largest value in its window, row × window width + column; nullptr: not wanted. Of
// equal values the first wins. A window has at most 255 positions, and covers at least one pixel.
void max_pool(const PoolGeometry& pool, const float* input, float* output, std::uint8_t* winners);
void max_pool_gradient(const PoolGeometry& pool, const std::uint8_t* winners, const float* d_output, float* d_input);
void average_pool(const PoolGeometry& pool, const float* input, float* output);
void average_pool_gradient(const PoolGeometry& pool, const float* d_output, float* d_input);

// The winner that marks a value that relu set to 0: no gradient passes.
inline constexpr std::uint8_t kDead = 255;

}  // namespace eave::cpu
