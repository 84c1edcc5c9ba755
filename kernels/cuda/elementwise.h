// Passes over activations that are bound by memory; the twins of kernels/cpu/elementwise.h. T is float or Half. For
// float the same bits as on the CPU, but for sums over rows, whose order differs (from the CPU's, not from call to
// call).
#pragma once

#include "kernels/cuda/half.h"

namespace eave::cuda {

// output may be input.
template <class T>
void relu_forward(cudaStream_t stream, const T* input, T* output, std::int64_t count);
// d_input = d_output where output > 0, else 0; d_input may be d_output.
template <class T>
void relu_backward(cudaStream_t stream, const T* output, const T* d_output, T* d_input, std::int64_t count);
// sum may be a or b.
template <class T>
void add(cudaStream_t stream, const T* a, const T* b, T* sum, std::int64_t count);

// rows × columns, in place: + bias, then max(·, 0) when relu. An absent bias is nullptr.
template <class T>
void bias_forward(cudaStream_t stream, T* values, const float* bias, bool relu, std::int64_t rows,
                  std::int64_t columns);
// The reverse: where `output` (nullptr: no relu) is not positive, d_output becomes 0; d_bias (nullptr: not wanted) gets
// the sums of the columns. `scratch`: bias_scratch doubles in device memory, for d_bias only.
std::int64_t bias_scratch(std::int64_t rows, std::int64_t columns);
template <class T>
void bias_backward(cudaStream_t stream, const T* output, T* d_output, float* d_bias, std::int64_t rows,
                   std::int64_t columns, double* scratch);

}  // namespace eave::cuda
