#include "kernels/cpu/exact_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

// A tile of sums stays in registers: 6 rows of 16 columns. Between two parts of k the sums wait in c, which does not
// change them.
constexpr std::int64_t kTileRows = 6, kTileColumns = 16, kPart = 256;
using TileRow = float __attribute__((vector_size(64)));

// Element (i, j) of a matrix lies at i · row + j · column.
struct Matrix {
  const float* data;
  std::int64_t row, column;
};

struct Matrices {
  std::int64_t rows, columns, depth;
  Matrix a, b;
  float* c;
  bool is_symmetric;  // c is: only the tiles on and below its diagonal are computed
};

// The part [begin, end) of k, with a tile's columns of b: rows that lie one after another.
struct Part {
  std::int64_t begin, end;
  const float* right;
};

template <int kRows>
EAVE_INLINE void multiply_tile(const Matrices& m, const Part& part, std::int64_t row, std::int64_t column) {
  TileRow sums[kRows] = {};
  float* const c = m.c + row * m.columns + column;
  if (part.begin > 0) {
    for (int r = 0; r < kRows; ++r) std::memcpy(&sums[r], c + r * m.columns, sizeof sums[r]);
  }
  const float* a = m.a.data + row * m.a.row + part.begin * m.a.column;
  const float* b = part.right;
  for (std::int64_t k = part.begin; k < part.end; ++k, a += m.a.column, b += kTileColumns) {
    TileRow right;
    std::memcpy(&right, b, sizeof right);
    for (int r = 0; r < kRows; ++r) sums[r] += right * a[r * m.a.row];
  }
  for (int r = 0; r < kRows; ++r) std::memcpy(c + r * m.columns, &sums[r], sizeof sums[r]);
}

// Copies the columns of b from `column` on. Read where they lie, rows of large matrices would fall on the same places
// of the cache.
EAVE_INLINE Part pack(const Matrices& m, std::int64_t begin, std::int64_t column, float* packed) {
  const std::int64_t end = std::min(begin + kPart, m.depth);
  const float* const b = m.b.data + begin * m.b.row + column * m.b.column;
  if (m.b.column == 1) {
    for (std::int64_t k = 0; k < end - begin; ++k)
      std::memcpy(packed + k * kTileColumns, b + k * m.b.row, kTileColumns * sizeof(float));
    return {begin, end, packed};
  }
  for (std::int64_t j = 0; j < kTileColumns; ++j) {
    for (std::int64_t k = 0; k < end - begin; ++k) packed[k * kTileColumns + j] = b[k * m.b.row + j * m.b.column];
  }
  return {begin, end, packed};
}

// The columns from `column` on, which do not fill a tile.
EAVE_INLINE void multiply_rest(const Matrices& m, std::int64_t column) {
  for (std::int64_t row = m.is_symmetric ? column : 0; row < m.rows; ++row) {
    for (std::int64_t j = column; j < m.columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < m.depth; ++k)
        sum += m.a.data[row * m.a.row + k * m.a.column] * m.b.data[k * m.b.row + j * m.b.column];
      m.c[row * m.columns + j] = sum;
    }
  }
}

// The elements above the diagonal are sums of the same products in the same order as those below.
EAVE_INLINE void copy_below_to_above(float* c, std::int64_t side) {
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t j = 0; j < row; ++j) c[j * side + row] = c[row * side + j];
  }
}

EAVE_MULTIVERSION void multiply(const Matrices& m) {
  alignas(64) float packed[kPart * kTileColumns];
  const std::int64_t whole = m.columns / kTileColumns * kTileColumns;
  for (std::int64_t column = 0; column < whole; column += kTileColumns) {
    for (std::int64_t begin = 0; begin < m.depth; begin += kPart) {
      const Part part = pack(m, begin, column, packed);
      std::int64_t row = m.is_symmetric ? column : 0;
      for (; row + kTileRows <= m.rows; row += kTileRows) multiply_tile<kTileRows>(m, part, row, column);
      for (; row < m.rows; ++row) multiply_tile<1>(m, part, row, column);
    }
  }
  multiply_rest(m, whole);
  if (m.is_symmetric) copy_below_to_above(m.c, m.rows);
}

}  // namespace

void multiply_exactly(std::int64_t rows, std::int64_t columns, std::int64_t depth, StoredMatrix a, StoredMatrix b,
                      float* c) {
  const Matrix left = a.is_transposed ? Matrix{a.data, 1, rows} : Matrix{a.data, depth, 1};
  const Matrix right = b.is_transposed ? Matrix{b.data, 1, depth} : Matrix{b.data, columns, 1};
  const bool is_symmetric = a.data == b.data && a.is_transposed != b.is_transposed && rows == columns;
  multiply({rows, columns, depth, left, right, c, is_symmetric});
}

}  // namespace eave::cpu
