// Copies of matrix parts in the order a tile kernel reads them.
#pragma once

#include "kernels/cpu/wide/vector.h"

namespace eave::cpu {
namespace {

// into[k · into_stride + i] = from[k · stride + i] for i < width. What lies between width and full_width becomes 0.
inline void pack_straight(const float* from, std::int64_t stride, std::int64_t depth, std::int64_t width,
                          std::int64_t full_width, float* into, std::int64_t into_stride) {
  for (std::int64_t k = 0; k < depth; ++k, from += stride, into += into_stride) {
    std::int64_t i = 0;
    for (; i + kWidth <= width; i += kWidth) store(into + i, load(from + i));
    for (; i < width; ++i) into[i] = from[i];
    for (; i < full_width; ++i) into[i] = 0;
  }
}

// The same for width ≤ kWidth, close-packed: into[k · width + i]. Whole vectors are copied, of which
// the next one overwrites what is too much; only the last ones, which could reach beyond the source, are copied singly.
inline void pack_narrow(const float* from, std::int64_t stride, std::int64_t depth, std::int64_t width, float* into) {
  const std::int64_t whole = larger(0, depth - kWidth);
  for (std::int64_t k = 0; k < whole; ++k) store(into + k * width, load(from + k * stride));
  pack_straight(from + whole * stride, stride, depth - whole, width, width, into + whole * width, width);
}

// into[k · into_stride + i] = from[i · stride + k] for i < rows ≤ kWidth. Each k writes kWidth floats, what is behind
// `rows` being 0: with a smaller stride the next k overwrites it, and the end needs slack.
inline void pack_turned(const float* from, std::int64_t stride, std::int64_t depth, std::int64_t rows, float* into,
                        std::int64_t into_stride) {
  const std::int64_t whole = depth / kWidth * kWidth;
  for (std::int64_t k = 0; k < whole; k += kWidth) {
    Vector block[kWidth];
    EAVE_UNROLL for (int i = 0; i < kWidth; ++i) block[i] = i < rows ? load(from + i * stride + k) : Vector{};
    transpose(block);
    EAVE_UNROLL for (int j = 0; j < kWidth; ++j) store(into + (k + j) * into_stride, block[j]);
  }
  for (std::int64_t k = whole; k < depth; ++k) {
    Vector values{};
    for (std::int64_t i = 0; i < rows; ++i) values[i] = from[i * stride + k];
    store(into + k * into_stride, values);
  }
}

}  // namespace
}  // namespace eave::cpu
