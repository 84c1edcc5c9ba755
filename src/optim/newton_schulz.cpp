#include "optim/newton_schulz.h"

#include <algorithm>

#include "eave/check.h"

namespace eave {
namespace {

constexpr float kA = 3.4445f, kB = -4.7750f, kC = 2.0315f;
constexpr double kSmallest = 1e-7;  // added to the norm, as published

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

}  // namespace

NewtonSchulz::NewtonSchulz(Device& device, std::int64_t largest_size, std::int64_t largest_square)
    : device_(device),
      moved_(device.allocate(size_of(largest_size))),
      square_(device.allocate(size_of(largest_square))),
      second_(device.allocate(size_of(largest_square))) {}

void NewtonSchulz::orthogonalise(std::int64_t rows, std::int64_t columns, Slice matrix) {
  EAVE_CHECK(size_of(rows * columns) == matrix.size() && matrix.size() <= moved_.size(), "the matrix has its size");
  device_.scale(matrix, static_cast<float>(1 / (device_.norm(matrix) + kSmallest)));
  for (int i = 0; i < kIterations; ++i) iterate(rows, columns, matrix);
}

// A is the smaller one of X X^T and X^T X: then B X and X B are equal.
void NewtonSchulz::iterate(std::int64_t rows, std::int64_t columns, Slice x) {
  const bool is_tall = rows > columns;
  const std::int64_t side = std::min(rows, columns), other = std::max(rows, columns);
  const Slice square = square_.slice().first(size_of(side * side)), second = second_.slice().first(square.size());
  const Slice moved = moved_.slice().first(x.size());
  device_.multiply({side, side, other, is_tall, !is_tall}, x, x, square);
  device_.multiply({side, side, side}, square, square, second);
  device_.scale(square, kB);
  device_.add_scaled(square, kC, second);
  if (is_tall) {
    device_.multiply({rows, columns, side}, x, square, moved);
  } else {
    device_.multiply({rows, columns, side}, square, x, moved);
  }
  device_.scale(x, kA);
  device_.add_scaled(x, 1, moved);
}

}  // namespace eave
