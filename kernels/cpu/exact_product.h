// Matrix products whose bits are the same on every CPU: no fused multiply-add, and each sum in the order of k. So ranks
// on different CPUs can multiply equal matrices and stay equal. About half as fast as the products of kernels/cpu/wide.
#pragma once

#include <cstdint>

namespace eave::cpu {

struct StoredMatrix {
  const float* data;
  bool is_transposed = false;  // the rows of its transpose lie one after another, not its own
};

// c = a · b: a is rows × depth, b is depth × columns, c is row-major and overlaps neither. If b is the transpose of a,
// in the same memory, only half of the products are computed: c is symmetric.
void multiply_exactly(std::int64_t rows, std::int64_t columns, std::int64_t depth, StoredMatrix a, StoredMatrix b,
                      float* c);

}  // namespace eave::cpu
