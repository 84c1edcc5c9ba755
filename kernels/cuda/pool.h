// Pooling of NHWC images; the twins of kernels/cpu/pool.h, with the same geometry and the same winners. There is a
// winner byte per output: the index of the largest value in its window, the first among equals. T is float or Half.
// Each pixel of the input gathers its gradient, without atomics: for float the bits are the same as on the CPU.
#pragma once

#include "kernels/cpu/pool.h"
#include "kernels/cuda/support/half.h"

namespace eave::cuda {

using cpu::PoolGeometry;

// `winners` is nullptr if not wanted. NaN wins.
template <class T>
void max_pool_forward(cudaStream_t stream, const PoolGeometry& pool, const T* input, T* output, std::uint8_t* winners);
// If a winner is cpu::kDead, its output passes no gradient.
template <class T>
void max_pool_backward(cudaStream_t stream, const PoolGeometry& pool, const std::uint8_t* winners, const T* d_output,
                       T* d_input);

// The steps after a convolution in one pass: adds the bias (nullptr: none), then max(·, 0) if `relu`, then the pool.
// The result is the same as that of the separate steps. If relu makes a window's largest value 0, its winner is
// cpu::kDead. The gradient is max_pool_backward, and bias_backward with the pool's output.
template <class T>
void bias_relu_max_pool(cudaStream_t stream, const PoolGeometry& pool, const T* input, const float* bias, bool relu,
                        T* output, std::uint8_t* winners);

// Zeros of the padding count as values.
template <class T>
void average_pool_forward(cudaStream_t stream, const PoolGeometry& pool, const T* input, T* output);
template <class T>
void average_pool_backward(cudaStream_t stream, const PoolGeometry& pool, const T* d_output, T* d_input);

}  // namespace eave::cuda
