#include "optim/newton_schulz.h"

#include <utility>

#include "eave/check.h"
#include "kernels/cpu/exact_product.h"

namespace eave {
namespace {

constexpr float kA = 3.4445f, kB = -4.7750f, kC = 2.0315f;
constexpr double kSmallest = 1e-7;  // added to the norm, as published

// from is rows × columns, into is columns × rows.
void transpose(std::int64_t rows, std::int64_t columns, const float* from, float* into) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) into[column * rows + row] = from[row * columns + column];
  }
}

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

}  // namespace

NewtonSchulz::NewtonSchulz(std::int64_t largest_size, std::int64_t largest_square)
    : x_(size_of(largest_size)),
      transposed_(size_of(largest_size)),
      moved_(size_of(largest_size)),
      square_(size_of(largest_square)),
      second_(size_of(largest_square)) {}

void NewtonSchulz::orthogonalise(std::int64_t rows, std::int64_t columns, ConstSlice matrix, Slice into) {
  EAVE_CHECK(size_of(rows * columns) == matrix.size() && matrix.size() <= x_.size(), "the matrix has its size");
  // The squares are smaller if the longer side is that of the columns.
  const bool is_tall = rows > columns;
  if (is_tall) {
    transpose(rows, columns, matrix.data(), x_.data());
    std::swap(rows, columns);
  } else {
    cpu_device().copy(x_.slice().first(matrix.size()), matrix);
  }
  const Slice x = x_.slice().first(matrix.size());
  cpu_device().scale(x, static_cast<float>(1 / (cpu_device().norm(x) + kSmallest)));
  for (int i = 0; i < kIterations; ++i) iterate(rows, columns);
  if (is_tall) {
    transpose(rows, columns, x_.data(), into.data());
  } else {
    cpu_device().copy(into, x_.slice().first(matrix.size()));
  }
}

void NewtonSchulz::iterate(std::int64_t rows, std::int64_t columns) {
  transpose(rows, columns, x_.data(), transposed_.data());
  cpu::multiply_exactly(rows, rows, columns, x_.data(), transposed_.data(), square_.data());
  cpu::multiply_exactly(rows, rows, rows, square_.data(), square_.data(), second_.data());
  for (std::int64_t i = 0; i < rows * rows; ++i) square_.data()[i] = kB * square_.data()[i] + kC * second_.data()[i];
  cpu::multiply_exactly(rows, columns, rows, square_.data(), x_.data(), moved_.data());
  for (std::int64_t i = 0; i < rows * columns; ++i) x_.data()[i] = kA * x_.data()[i] + moved_.data()[i];
}

}  // namespace eave
