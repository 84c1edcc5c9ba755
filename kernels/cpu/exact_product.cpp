#include "kernels/cpu/exact_product.h"

#include <cstring>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

// A tile of sums stays in registers: 6 rows of 16 columns.
constexpr std::int64_t kTileRows = 6, kTileColumns = 16;
using TileRow = float __attribute__((vector_size(64)));

struct Matrices {
  std::int64_t rows, columns, depth;
  const float* a;
  const float* b;
  float* c;
};

template <int kRows>
EAVE_INLINE void multiply_tile(const Matrices& m, std::int64_t row, std::int64_t column) {
  TileRow sums[kRows] = {};
  const float* a = m.a + row * m.depth;
  const float* b = m.b + column;
  for (std::int64_t k = 0; k < m.depth; ++k, b += m.columns) {
    TileRow right;
    std::memcpy(&right, b, sizeof right);
    for (int r = 0; r < kRows; ++r) sums[r] += right * a[r * m.depth + k];
  }
  for (int r = 0; r < kRows; ++r) std::memcpy(m.c + (row + r) * m.columns + column, &sums[r], sizeof sums[r]);
}

// The columns from `column` on, which do not fill a tile.
EAVE_INLINE void multiply_rest(const Matrices& m, std::int64_t column) {
  for (std::int64_t row = 0; row < m.rows; ++row) {
    for (std::int64_t j = column; j < m.columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < m.depth; ++k) sum += m.a[row * m.depth + k] * m.b[k * m.columns + j];
      m.c[row * m.columns + j] = sum;
    }
  }
}

EAVE_MULTIVERSION void multiply(const Matrices& m) {
  const std::int64_t whole = m.columns / kTileColumns * kTileColumns;
  for (std::int64_t column = 0; column < whole; column += kTileColumns) {
    std::int64_t row = 0;
    for (; row + kTileRows <= m.rows; row += kTileRows) multiply_tile<kTileRows>(m, row, column);
    for (; row < m.rows; ++row) multiply_tile<1>(m, row, column);
  }
  multiply_rest(m, whole);
}

}  // namespace

void multiply_exactly(std::int64_t rows, std::int64_t columns, std::int64_t depth, const float* a, const float* b,
                      float* c) {
  multiply({rows, columns, depth, a, b, c});
}

}  // namespace eave::cpu
