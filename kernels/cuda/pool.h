// Pooling of NHWC images; the twins of kernels/cpu/pool.h, whose geometry and winners they share: a byte per output,
// the position of the largest value in its window, the first of equals. T is float or Half. Gradients are gathered by
// the pixels of the input, without atomics: for float the same bits as on the CPU.
#pragma once

#include "kernels/cpu/pool.h"
#include "kernels/cuda/half.h"

namespace eave::cuda {

using cpu::PoolGeometry;

// `winners` is nullptr where it is not wanted. NaN wins.
template <class T>
void max_pool_forward(cudaStream_t stream, const PoolGeometry& pool, const T* input, T* output, std::uint8_t* winners);
// Where the winner is cpu::kDead no gradient passes.
template <class T>
void max_pool_backward(cudaStream_t stream, const PoolGeometry& pool, const std::uint8_t* winners, const T* d_output,
                       T* d_input);

// What follows a convolution, in one pass: + bias (nullptr: none), then max(·, 0) when relu, then the pool. Where relu
// made the largest value 0 the winner is cpu::kDead. Same result as one after the other. Backward: max_pool_backward,
// and bias_backward of the pool's output.
template <class T>
void bias_relu_max_pool(cudaStream_t stream, const PoolGeometry& pool, const T* input, const float* bias, bool relu,
                        T* output, std::uint8_t* winners);

// Zeros of the padding count as values.
template <class T>
void average_pool_forward(cudaStream_t stream, const PoolGeometry& pool, const T* input, T* output);
template <class T>
void average_pool_backward(cudaStream_t stream, const PoolGeometry& pool, const T* d_output, T* d_input);

}  // namespace eave::cuda
