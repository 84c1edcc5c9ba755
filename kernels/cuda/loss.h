// Softmax cross-entropy; the twin of kernels/cpu/loss.h.
#pragma once

#include "kernels/cpu/loss.h"
#include "kernels/cuda/half.h"
#include "kernels/cuda/pass_block.h"

namespace eave::cuda {

using cpu::LossTotals;

struct Loss {
  std::int64_t rows = 0;  // of logits; those from the block's samples on count for nothing
  std::int64_t classes = 0;
};

// Doubles of scratch in device memory.
std::int64_t loss_scratch(const Loss& shape);

// *totals = sums over the rows, in the same order each time. d_logits (nullptr: not wanted) = loss_factor of the block
// × (softmax − onehot(label)). The first of equal logits is the largest. Everything is in device memory. T is float or
// Half; sums are in double.
template <class T>
void softmax_cross_entropy(cudaStream_t stream, const Loss& shape, const PassBlock* block, const std::int32_t* labels,
                           const T* logits, T* d_logits, LossTotals* totals, double* scratch);

}  // namespace eave::cuda
