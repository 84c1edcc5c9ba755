// Batch normalisation over rows × channels activations. These are the twins of kernels/cpu/batch_norm.h and of the rest
// of CpuBatchNorm (src/device/cpu/cpu_batch_norm.cpp).
//
// T is float or Half. Arithmetic is in float. Sums over rows are in double and relative to the first row, so nothing
// cancels if the mean is much larger than the deviation. Parameters, their gradients and statistics are float. An
// absent array is nullptr. Every call gives the same bits for the same values.
#pragma once

#include "kernels/cuda/support/half.h"

namespace eave::cuda {

struct NormShape {
  std::int64_t rows = 0;  // at least 1
  std::int64_t channels = 0;
  bool relu = false;
};

// Bytes of scratch that forward, backward and evaluation need. The scratch must be aligned to 8 bytes.
std::int64_t norm_scratch_bytes(const NormShape& shape);

// output = scale · (input − mean) / √(variance + epsilon) + shift (+ skip), then max(·, 0) when relu.
template <class T>
struct NormForward {
  const T* input;
  const T* skip;  // may be absent
  const float* scale;
  const float* shift;
  T* output;
  float* saved;             // 2 × channels: mean, 1/deviation
  float* running_mean;      // += momentum · (mean − running_mean); both averages may be absent
  float* running_variance;  // the same, with the unbiased variance
  float* variance;          // set to the batch's biased variance; may be absent
  float momentum = 0, epsilon = 0;
};
template <class T>
void norm_forward(cudaStream_t stream, const NormShape& shape, const NormForward<T>& call, void* scratch);

// d_output = d_output + d_more where output > 0 (if relu), else 0. This is also the gradient of skip. d_shift is its
// sum over rows, and d_scale the sum of its product with the normalised input.
template <class T>
struct NormBackward {
  const T* input;
  const T* output;  // only used with relu
  const float* scale;
  const float* saved;
  T* d_output;
  const T* d_more;  // may be absent
  T* d_input;       // may be absent
  float* d_scale;
  float* d_shift;
};
template <class T>
void norm_backward(cudaStream_t stream, const NormShape& shape, const NormBackward<T>& call, void* scratch);

// Normalises with given statistics, as for evaluation.
template <class T>
struct NormEvaluation {
  const T* input;
  const T* skip;  // may be absent
  const float* scale;
  const float* shift;
  const float* mean;
  const float* variance;
  T* output;
  float epsilon = 0;
};
template <class T>
void norm_evaluate(cudaStream_t stream, const NormShape& shape, const NormEvaluation<T>& call, void* scratch);

}  // namespace eave::cuda
