// Copies parts of matrices into the order in which a tile kernel reads them.
#pragma once

#include "kernels/cpu/wide/vector.h"

namespace eave::cpu {
namespace {

// into[k · into_stride + i] = from[k · stride + i] for i < width.
inline void pack_straight(const float* from, std::int64_t stride, std::int64_t depth, std::int64_t width, float* into,
                          std::int64_t into_stride) {
  for (std::int64_t k = 0; k < depth; ++k, from += stride, into += into_stride) {
    std::int64_t i = 0;
    for (; i + kWidth <= width; i += kWidth) store(into + i, load(from + i));
    for (; i < width; ++i) into[i] = from[i];
  }
}

// The same for width ≤ kWidth. Whole vectors are copied, so anything may lie behind `width`; with a smaller into_stride
// the next row overwrites it. The last rows, where a whole vector could reach beyond the source, are copied exactly.
inline void pack_narrow(const float* from, std::int64_t stride, std::int64_t depth, std::int64_t width, float* into,
                        std::int64_t into_stride) {
  const std::int64_t whole = larger(0, depth - kWidth);
  for (std::int64_t k = 0; k < whole; ++k) store(into + k * into_stride, load(from + k * stride));
  pack_straight(from + whole * stride, stride, depth - whole, width, into + whole * into_stride, into_stride);
}

// The last columns of `from`, fewer than kWidth, for pack_turned. It is a function of its own, so that it takes no
// registers from that function's loop.
__attribute__((noinline)) void pack_turned_rest(const float* from, std::int64_t stride, std::int64_t depth,
                                                std::int64_t rows, float* into, std::int64_t into_stride) {
  Vector block[kWidth] = {};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < depth; ++k) block[i][k] = from[i * stride + k];
  }
  transpose(block);
  for (std::int64_t k = 0; k < depth; ++k) store(into + k * into_stride, block[k]);
}

// into[k · into_stride + i] = from[i · stride + k] for i < rows ≤ kWidth. Each k writes kWidth floats, zeros behind
// `rows`. With a smaller into_stride the next k overwrites them, and the end of `into` needs room for them.
inline void pack_turned(const float* from, std::int64_t stride, std::int64_t depth, std::int64_t rows, float* into,
                        std::int64_t into_stride) {
  const std::int64_t whole = depth / kWidth * kWidth;
  for (std::int64_t k = 0; k < whole; k += kWidth) {
    Vector block[kWidth];
    EAVE_UNROLL for (int i = 0; i < kWidth; ++i) block[i] = i < rows ? load(from + i * stride + k) : Vector{};
    transpose(block);
    EAVE_UNROLL for (int j = 0; j < kWidth; ++j) store(into + (k + j) * into_stride, block[j]);
  }
  if (whole == depth) return;
  pack_turned_rest(from + whole, stride, depth - whole, rows, into + whole * into_stride, into_stride);
}

}  // namespace
}  // namespace eave::cpu
