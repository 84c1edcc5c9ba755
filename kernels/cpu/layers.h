// The passes of layers that are neither elementwise (elementwise.h) nor batch normalisation (batch_norm.h). Each is in
// the file of its name: pool.cpp, shortcut.cpp, local_response_norm.cpp, dropout.cpp and loss.cpp.
#pragma once

#include <cstdint>

#include "eave/random.h"

namespace eave::cpu {

// Pooling of NHWC images.

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

// The parameter-free shortcut past layers that shrink an image and widen it.

struct ShortcutGeometry {
  std::int64_t samples = 0;
  int height = 0, width = 0, channels = 0;  // of the input
  int rows = 0, columns = 0, outputs = 0;   // of the output
  int stride = 1;
};

// Takes every stride-th pixel, and adds zero channels on both sides.
void shortcut(const ShortcutGeometry& shape, const float* input, float* output);
void shortcut_gradient(const ShortcutGeometry& shape, const float* d_output, float* d_input);

// Normalisation of each value by its neighbours among the channels (Krizhevsky et al. 2012, section 3.3).

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

// Dropout whose pattern depends only on counters.

// output = input × (kept ? 1/(1 − rate) : 0) for one sample of `size` values. The i-th value is kept when its 16 bits
// of the sequence (key, counter) are at least rate × 2^16. output may be input.
void dropout(const RandomKey& key, std::uint64_t counter, float rate, std::int64_t size, const float* input,
             float* output);
// The factors of `count` values: 0 or 1/(1 − rate). The first value's bits are the first ones of the sequence's block
// `first` of four words, which decide eight values.
void dropout_factors(const RandomKey& key, std::uint64_t counter, std::uint64_t first, float rate, std::int64_t count,
                     float* factors);

// Softmax cross-entropy.

struct LossTotals {
  double loss = 0;
  std::int64_t correct = 0;
};

struct LossFactors {
  float of_gradient = 1;
  float smoothing = 0;  // the share of a label that is spread evenly over all classes
};

// Returns the sums over rows × classes logits. d_logits = factor × (softmax − target); nullptr: not wanted. The target
// is (1 − smoothing) · onehot(label) + smoothing / classes. A row counts as correct if its label's logit is the
// largest; the first of equal logits wins. A row whose label is negative counts for nothing, and its gradient is 0.
LossTotals softmax_cross_entropy(const float* logits, const std::int32_t* labels, std::int64_t rows,
                                 std::int64_t classes, const LossFactors& factors, float* d_logits);

}  // namespace eave::cpu
