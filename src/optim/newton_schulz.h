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

  // `largest_size` is that of all matrices that it will get, `largest_square` that of the square of their shorter side.
  // It holds a matrix of the largest size and two of the largest squares in the device's memory.
  NewtonSchulz(Device& device, std::int64_t largest_size, std::int64_t largest_square);

  // Replaces `matrix`, rows × columns and row-major, by the nearly orthogonal one. Equal inputs give equal bits on
  // every CPU, and on GPUs of one kind. A matrix of zeros stays zero.
  void orthogonalise(std::int64_t rows, std::int64_t columns, Slice matrix);

 private:
  void iterate(std::int64_t rows, std::int64_t columns, Slice x);

  Device& device_;
  Buffer moved_, square_, second_;
};

}  // namespace eave
