// c = a · bᵀ for contiguous rows of both: each element of c is a dot product. Nothing is packed. A tile of sums, one
// vector each, stays in registers while the rows are read. Its lanes are summed at the end.
#pragma once

#include "kernels/cpu/wide/vector.h"
#include "kernels/cpu/wide/wide_kernels.h"

namespace eave::cpu {
namespace {

constexpr int kDotRows = 4;                        // rows of a
constexpr int kDotColumns = kWidth == 16 ? 6 : 3;  // rows of b; with the rows of a they fill the registers
constexpr int kDots = kDotRows * kDotColumns;
constexpr int kDotVectors = (kDots + kWidth - 1) / kWidth;

struct DotTile {
  const float* a[kDotRows];
  const float* b[kDotColumns];
  const float* fetch;  // the next rows of b, to prefetch one line per step
};

// For kWidth vectors, the sum of the lanes of values[i] becomes lane i of values[0]. Pairs are added blockwise, in the
// order of a tree.
template <int kApart>
EAVE_INLINE void sum_lanes(Vector* values) {
  EAVE_UNROLL for (int i = 0; i < kApart; ++i) {
    exchange<kApart>(values[i], values[i + kApart]);
    values[i] += values[i + kApart];
  }
  if constexpr (kApart > 1) sum_lanes<kApart / 2>(values);
}

inline void multiply_dot_tile(const DotTile& t, std::int64_t depth, float* dots) {
  Vector sum[kDotVectors * kWidth];
  EAVE_UNROLL for (int i = 0; i < kDotVectors * kWidth; ++i) sum[i] = Vector{};
  const std::int64_t whole = depth / kWidth * kWidth;
  const float* fetch = t.fetch;
  for (std::int64_t k = 0; k < whole; k += kWidth, fetch += 16) {
    Vector a[kDotRows];
    EAVE_UNROLL for (int i = 0; i < kDotRows; ++i) a[i] = load(t.a[i] + k);
    EAVE_UNROLL for (int j = 0; j < kDotColumns; ++j) {
      const Vector b = load(t.b[j] + k);
      EAVE_UNROLL for (int i = 0; i < kDotRows; ++i) sum[i * kDotColumns + j] += a[i] * b;
    }
    __builtin_prefetch(fetch, 0, 2);
  }
  EAVE_UNROLL for (int v = 0; v < kDotVectors; ++v) {
    sum_lanes<kWidth / 2>(sum + v * kWidth);
    store(dots + v * kWidth, sum[v * kWidth]);
  }
  for (std::int64_t k = whole; k < depth; ++k) {
    for (int i = 0; i < kDotRows; ++i) {
      for (int j = 0; j < kDotColumns; ++j) dots[i * kDotColumns + j] += t.a[i][k] * t.b[j][k];
    }
  }
}

// Tiles beyond the end repeat the last row, and drop its results.
inline void multiply_dots(const Product& p) {
  DotTile tile;
  float dots[kDotVectors * kWidth];
  for (std::int64_t column = 0; column < p.columns; column += kDotColumns) {
    const std::int64_t columns = smaller(kDotColumns, p.columns - column);
    for (int j = 0; j < kDotColumns; ++j) tile.b[j] = p.b + (column + smaller(j, columns - 1)) * p.b_stride;
    tile.fetch = p.b + (column + kDotColumns) * p.b_stride;
    for (std::int64_t row = 0; row < p.rows; row += kDotRows, tile.fetch += p.depth) {
      const std::int64_t rows = smaller(kDotRows, p.rows - row);
      for (int i = 0; i < kDotRows; ++i) tile.a[i] = p.a + (row + smaller(i, rows - 1)) * p.a_stride;
      multiply_dot_tile(tile, p.depth, dots);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) p.c[(row + i) * p.c_stride + column + j] = dots[i * kDotColumns + j];
      }
    }
  }
}

}  // namespace
}  // namespace eave::cpu
