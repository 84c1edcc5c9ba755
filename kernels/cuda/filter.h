// Converts filters of convolutions between eave's layout, [taps, inputs, outputs], and the layout that cuDNN's fast
// engines want, [outputs, taps, inputs]. taps = window height × width. The twins of kernels/cpu/filter.h.
#pragma once

#include "kernels/cpu/filter.h"
#include "kernels/cuda/support/half.h"

namespace eave::cuda {

using cpu::FilterSize;

// T is float or Half.
template <class T>
void pack_filter(cudaStream_t stream, const FilterSize& size, const T* filter, T* packed);
// The reverse, for the filter's gradient.
template <class T>
void unpack_filter(cudaStream_t stream, const FilterSize& size, const T* packed, float* filter);

}  // namespace eave::cuda
