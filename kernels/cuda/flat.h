// Algebra on flat vectors in device memory; the twins of src/device/cpu/flat.h. Operands have equal sizes. Each element
// is computed by the same IEEE operations as on the CPU, so equal inputs give equal bits.
#pragma once

#include "eave/slice.h"
#include "kernels/cuda/support/half.h"
#include "kernels/flat/flat_pass.h"

namespace eave::cuda {

// Runs a word of kernels/flat; the twin of cpu::run. Vectors may be empty, or longer than 2^31. Those that are aligned
// alike (to 16 bytes, or all off by the same) are fastest. `half` gets the new parameters (Use::kParameters) rounded to
// bfloat16, for 2 bytes more; nullptr: not wanted. `stayed` lies in device memory. A word that answers sets it to 1 if
// an element kept its values; nullptr: not wanted.
void run(cudaStream_t stream, const FlatPass& pass, Half* half = nullptr, double* stayed = nullptr);

void fill(cudaStream_t stream, Slice values, float value);
void scale(cudaStream_t stream, Slice values, float factor);
void add_scaled(cudaStream_t stream, Slice into, float factor, ConstSlice from);  // into += factor · from

// Converts to and from bfloat16, rounded to nearest, ties to even. `half` has as many elements as the slice.
void cast(cudaStream_t stream, ConstSlice from, Half* half);
void cast(cudaStream_t stream, const Half* half, Slice into);

// Each writes one number about a vector to `result`, in device memory. Sums are in double, in an order that depends
// only on the length: the same values give the same bits on every GPU. `scratch` holds kSumScratch doubles in device
// memory, for one call at a time.
inline constexpr std::int64_t kSumScratch = 1024;
void norm(cudaStream_t stream, ConstSlice values, double* scratch, double* result);               // Euclidean
void distance(cudaStream_t stream, ConstSlice a, ConstSlice b, double* scratch, double* result);  // norm of a − b
void count_not_finite(cudaStream_t stream, ConstSlice values, double* scratch, double* result);   // 0: all finite

}  // namespace eave::cuda
