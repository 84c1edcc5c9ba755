// Dropout whose pattern depends only on counters, and is the same as on the CPU (kernels/cpu/dropout.h). A value is
// kept if its 16 bits of the sequence (seed, layer; step, dataset index of the sample) are at least rate × 2^16.
#pragma once

#include "kernels/cuda/support/half.h"
#include "kernels/cuda/support/pass_block.h"

namespace eave::cuda {

struct Dropout {
  std::int64_t samples = 0;
  std::int64_t size = 0;  // per sample
  float rate = 0;
  std::uint32_t layer = 0;
};

// output = kept ? input · 1/(1 − rate) : 0; gradients go through the same function. `indices` holds one dataset index
// per sample; it and `block` lie in device memory. output may be input. T is float or Half; for float the bits are the
// same as on the CPU.
template <class T>
void dropout(cudaStream_t stream, const Dropout& shape, const PassBlock* block, const std::int64_t* indices,
             const T* input, T* output);

}  // namespace eave::cuda
