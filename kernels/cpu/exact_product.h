// Matrix products whose bits are the same on every CPU: no fused multiply-add, and each sum in the order of k. So ranks
// on different CPUs can multiply equal matrices and stay equal. About half as fast as the products of kernels/cpu/wide.
#pragma once

#include <cstdint>

namespace eave::cpu {

// c = a · b for dense row-major matrices: a is rows × depth, b is depth × columns. They do not overlap.
void multiply_exactly(std::int64_t rows, std::int64_t columns, std::int64_t depth, const float* a, const float* b,
                      float* c);

}  // namespace eave::cpu
