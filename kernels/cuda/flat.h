// Algebra on flat vectors in device memory; the twins of src/device/flat.h. Operands are equally long. Element by
// element the same IEEE operations as on the CPU: equal inputs give equal bits.
#pragma once

#include "eave/slice.h"
#include "kernels/cuda/half.h"

namespace eave::cuda {

void fill(cudaStream_t stream, Slice values, float value);
void scale(cudaStream_t stream, Slice values, float factor);
void add_scaled(cudaStream_t stream, Slice into, float factor, ConstSlice from);  // into += factor · from

// To and from bfloat16, rounded to nearest, ties to even. `half` is as long as the slice.
void cast(cudaStream_t stream, ConstSlice from, Half* half);
void cast(cudaStream_t stream, const Half* half, Slice into);

// Numbers of a vector, written to `result` in device memory. Sums are in double and in an order that depends on the
// length alone: same values, same bits, on every GPU. `scratch`: kSumScratch doubles in device memory, for one call at
// a time; the contents mean nothing.
inline constexpr std::int64_t kSumScratch = 1024;
void norm(cudaStream_t stream, ConstSlice values, double* scratch, double* result);               // Euclidean
void distance(cudaStream_t stream, ConstSlice a, ConstSlice b, double* scratch, double* result);  // norm of a − b
void count_not_finite(cudaStream_t stream, ConstSlice values, double* scratch, double* result);   // 0: all finite

}  // namespace eave::cuda
