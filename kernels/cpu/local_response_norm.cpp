#include <algorithm>
#include <cmath>

#include "kernels/cpu/layers.h"
#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kTile = 256;  // channels of a row per step: their data stays in the first-level cache

// Writes `count` channels, from `from` on, to `values`. Channels outside of the row become 0.
template <class Value>
EAVE_INLINE void fill_padded(std::int64_t from, std::int64_t count, std::int64_t channels, Value value, float* values) {
  const std::int64_t first = std::max<std::int64_t>(from, 0), last = std::min(from + count, channels);
  std::fill(values, values + (first - from), 0.0f);
  for (std::int64_t c = first; c < last; ++c) values[c - from] = value(c);
  std::fill(values + (last - from), values + count, 0.0f);
}

// sums[i] = values[i] + … + values[i + 2 · radius]
template <int kRadius>
EAVE_INLINE void sum_windows(const float* values, int radius, std::int64_t count, float* sums) {
  const int width = 2 * (kRadius > 0 ? kRadius : radius) + 1;
  if (kRadius > 0) {
    for (std::int64_t i = 0; i < count; ++i) {
      float sum = 0;
      for (int k = 0; k < width; ++k) sum += values[i + k];
      sums[i] = sum;
    }
    return;
  }
  std::fill(sums, sums + count, 0.0f);
  for (int k = 0; k < width; ++k) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += values[i + k];
  }
}

// Computes 1/s and s^−β of `count` channels, from `first` on.
template <int kRadius, bool kRoots>
EAVE_INLINE void find_factors(const ResponseNorm& norm, const float* row, std::int64_t first, std::int64_t count,
                              float* inverse, float* factors) {
  float squares[kTile + 4 * kLargestRadius];
  const auto square = [=](std::int64_t c) { return row[c] * row[c]; };
  fill_padded(first - norm.radius, count + 2 * norm.radius, norm.channels, square, squares);
  sum_windows<kRadius>(squares, norm.radius, count, inverse);
  for (std::int64_t i = 0; i < count; ++i) inverse[i] = 1.0f / (norm.bias + norm.alpha * inverse[i]);
  if (kRoots) {  // β = 3/4
    for (std::int64_t i = 0; i < count; ++i) {
      const float root = std::sqrt(inverse[i]);
      factors[i] = root * std::sqrt(root);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) factors[i] = std::pow(inverse[i], norm.beta);
  }
}

template <int kRadius, bool kRoots>
EAVE_INLINE void norm_rows(const ResponseNorm& norm, const float* input, float* output) {
  float inverse[kTile + 2 * kLargestRadius], factors[kTile + 2 * kLargestRadius];
  for (std::int64_t row = 0; row < norm.rows; ++row, input += norm.channels, output += norm.channels) {
    for (std::int64_t c = 0; c < norm.channels; c += kTile) {
      const std::int64_t count = std::min(kTile, norm.channels - c);
      find_factors<kRadius, kRoots>(norm, input, c, count, inverse, factors);
      for (std::int64_t i = 0; i < count; ++i) output[c + i] = input[c + i] * factors[i];
    }
  }
}

template <int kRadius, bool kRoots>
EAVE_INLINE void gradient_of_tile(const ResponseNorm& norm, const float* input, const float* d_output,
                                  std::int64_t first, std::int64_t last, float* d_input) {
  float inverse[kTile + 2 * kLargestRadius], factors[kTile + 2 * kLargestRadius];
  float products[kTile + 2 * kLargestRadius], sums[kTile];
  const std::int64_t from = std::max<std::int64_t>(first - norm.radius, 0);
  const std::int64_t to = std::min(last + norm.radius, norm.channels);
  find_factors<kRadius, kRoots>(norm, input, from, to - from, inverse, factors);
  const auto product = [&](std::int64_t c) { return d_output[c] * input[c] * factors[c - from] * inverse[c - from]; };
  fill_padded(first - norm.radius, last - first + 2 * norm.radius, norm.channels, product, products);
  sum_windows<kRadius>(products, norm.radius, last - first, sums);
  const float scale = 2 * norm.alpha * norm.beta;
  for (std::int64_t c = first; c < last; ++c) {
    d_input[c] = d_output[c] * factors[c - from] - scale * input[c] * sums[c - first];
  }
}

template <int kRadius, bool kRoots>
EAVE_INLINE void gradient_of_rows(const ResponseNorm& norm, const float* input, const float* d_output, float* d_input) {
  for (std::int64_t row = 0; row < norm.rows; ++row) {
    for (std::int64_t c = 0; c < norm.channels; c += kTile) {
      gradient_of_tile<kRadius, kRoots>(norm, input, d_output, c, std::min(c + kTile, norm.channels), d_input);
    }
    input += norm.channels;
    d_output += norm.channels;
    d_input += norm.channels;
  }
}

}  // namespace

// The radii of the published networks get loops whose sums stay in registers.
EAVE_MULTIVERSION void local_response_norm(const ResponseNorm& norm, const float* input, float* output) {
  if (norm.beta != 0.75f) return norm_rows<0, false>(norm, input, output);
  if (norm.radius == 4) return norm_rows<4, true>(norm, input, output);
  if (norm.radius == 2) return norm_rows<2, true>(norm, input, output);
  norm_rows<0, true>(norm, input, output);
}

EAVE_MULTIVERSION void local_response_norm_gradient(const ResponseNorm& norm, const float* input, const float* d_output,
                                                    float* d_input) {
  if (norm.beta != 0.75f) return gradient_of_rows<0, false>(norm, input, d_output, d_input);
  if (norm.radius == 4) return gradient_of_rows<4, true>(norm, input, d_output, d_input);
  if (norm.radius == 2) return gradient_of_rows<2, true>(norm, input, d_output, d_input);
  gradient_of_rows<0, true>(norm, input, d_output, d_input);
}

}  // namespace eave::cpu
