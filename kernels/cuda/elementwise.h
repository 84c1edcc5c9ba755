// Elementwise passes over activations, which are bound by memory; the twins of kernels/cpu/elementwise.h. T is float or
// Half. For float the bits are the same as on the CPU, except for sums over rows: their order differs from the CPU's,
// but is the same in every call.
#pragma once

#include "kernels/cuda/support/half.h"

namespace eave::cuda {

// sum may be a or b.
template <class T>
void add(cudaStream_t stream, const T* a, const T* b, T* sum, std::int64_t count);

// In place on rows × columns values: adds the bias (nullptr: none), then max(·, 0) if `relu`.
template <class T>
void bias_forward(cudaStream_t stream, T* values, const float* bias, bool relu, std::int64_t rows,
                  std::int64_t columns);
// The gradient of bias_forward. d_output becomes 0 where `output` is not positive; with nullptr there was no relu.
// d_bias gets the sums of the columns; nullptr: not wanted. `scratch` holds bias_scratch doubles in device memory,
// needed only for d_bias.
std::int64_t bias_scratch(std::int64_t rows, std::int64_t columns);
template <class T>
void bias_backward(cudaStream_t stream, const T* output, T* d_output, float* d_bias, std::int64_t rows,
                   std::int64_t columns, double* scratch);

}  // namespace eave::cuda
