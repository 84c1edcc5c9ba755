// The parameter-free shortcut past layers that shrink an image and widen it; the twins of kernels/cpu/shortcut.h. T is
// float or Half.
#pragma once

#include "kernels/cpu/shortcut.h"
#include "kernels/cuda/support/half.h"

namespace eave::cuda {

using cpu::ShortcutGeometry;

template <class T>
void shortcut_forward(cudaStream_t stream, const ShortcutGeometry& shape, const T* input, T* output);
template <class T>
void shortcut_backward(cudaStream_t stream, const ShortcutGeometry& shape, const T* d_output, T* d_input);

}  // namespace eave::cuda
