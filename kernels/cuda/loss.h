// Softmax cross-entropy; the twin of kernels/cpu/loss.h.
#pragma once

#include "kernels/cpu/loss.h"
#include "kernels/cuda/support/half.h"
#include "kernels/cuda/support/pass_block.h"

namespace eave::cuda {

using cpu::LossTotals;

struct Loss {
  std::int64_t rows = 0;  // rows of logits; rows from block->samples on count for nothing
  std::int64_t classes = 0;
};

// The number of doubles of scratch, in device memory.
std::int64_t loss_scratch(const Loss& shape);

// *totals = the sums over the rows, in the same order in every call. d_logits = the block's loss_factor × (softmax −
// onehot(label)); nullptr: not wanted. Among equal logits the first one counts as the largest. All arrays lie in device
// memory. T is float or Half; sums are in double.
template <class T>
void softmax_cross_entropy(cudaStream_t stream, const Loss& shape, const PassBlock* block, const std::int32_t* labels,
                           const T* logits, T* d_logits, LossTotals* totals, double* scratch);

}  // namespace eave::cuda
