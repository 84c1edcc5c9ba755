// Normalisation by neighbouring channels; the twins of kernels/cpu/local_response_norm.h. For float and β = 3/4 the
// bits are the same as on the CPU. T is float or Half; arithmetic is in float.
#pragma once

#include "kernels/cpu/local_response_norm.h"
#include "kernels/cuda/support/half.h"

namespace eave::cuda {

using cpu::ResponseNorm;

template <class T>
void local_response_norm(cudaStream_t stream, const ResponseNorm& norm, const T* input, T* output);
template <class T>
void local_response_norm_gradient(cudaStream_t stream, const ResponseNorm& norm, const T* input, const T* d_output,
                                  T* d_input);

}  // namespace eave::cuda
