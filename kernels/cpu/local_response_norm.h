// Normalisation of each value by its neighbours among the channels (Krizhevsky et al. 2012, section 3.3).
#pragma once

#include <cstdint>

namespace eave::cpu {

struct ResponseNorm {
  std::int64_t rows = 0, channels = 0;
  int radius = 0;  // channels on each side that the sum includes; channels outside of the row count as 0
  float alpha = 0, beta = 0, bias = 0;
};

inline constexpr int kLargestRadius = 64;  // the kernels have room for this radius, on a GPU too

// output = input · s^−β with s = bias + α · Σ input² over the channel and its neighbours.
void local_response_norm(const ResponseNorm& norm, const float* input, float* output);
// d_input = d_output · s^−β − 2αβ · input · Σ d_output · input · s^(−β−1) over the same neighbours.
void local_response_norm_gradient(const ResponseNorm& norm, const float* input, const float* d_output, float* d_input);

}  // namespace eave::cpu
