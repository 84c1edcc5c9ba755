// The Newton-Schulz iteration that makes a matrix nearly orthogonal, as Muon uses it (Jordan et al. 2024,
// kellerjordan.github.io/posts/muon). With X = G / |G|, five times
//     A = X X^T;  B = b A + c A A;  X <- a X + B X,   (a, b, c) = (3.4445, -4.7750, 2.0315).
// All singular values of the result lie between about 0.7 and 1.2.
#pragma once

#include <cstdint>

#include "eave/device.h"

namespace eave {

class NewtonSchulz {
 public:
  static constexpr int kIterations = 5;

  // `largest_side` and `largest_size` are those of all matrices that it will get. CPU memory: 3 matrices of the largest
  // size and 2 squares of the largest shorter side.
  NewtonSchulz(std::int64_t largest_size, std::int64_t largest_square);

  // Writes the nearly orthogonal matrix of `matrix`, rows × columns and row-major, to `into`. Equal inputs give equal
  // bits on every CPU. A matrix of zeros stays zero.
  void orthogonalise(std::int64_t rows, std::int64_t columns, ConstSlice matrix, Slice into);

 private:
  void iterate(std::int64_t rows, std::int64_t columns);

  Buffer x_, transposed_, moved_, square_, second_;
};

}  // namespace eave
