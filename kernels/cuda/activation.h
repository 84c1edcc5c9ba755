// The words of kernels/elementwise over arrays; the twin of kernels/cpu/activation.h. T is float or Half. For float the
// bits are the CPU's. Half is computed in float and rounded once.
#pragma once

#include "kernels/cuda/support/half.h"
#include "kernels/elementwise/words.h"

namespace eave::cuda {

// output may be input.
template <class T>
void activation_forward(cudaStream_t stream, Elementwise word, float parameter, const T* input, T* output,
                        std::int64_t count);
// Reads either input or output, as kBackwardReadsOutput of the word says; the other may be nullptr. d_input may be
// d_output.
template <class T>
void activation_backward(cudaStream_t stream, Elementwise word, float parameter, const T* input, const T* output,
                         const T* d_output, T* d_input, std::int64_t count);

}  // namespace eave::cuda
