// The passes of layers that are neither elementwise (elementwise.h) nor batch normalisation (batch_norm.h), each in the
// file of its name; the twins of kernels/cpu/layers.h. T is float or Half.
#pragma once

#include "kernels/cpu/filter.h"
#include "kernels/cpu/layers.h"
#include "kernels/cuda/support/half.h"
#include "kernels/cuda/support/pass_block.h"

namespace eave::cuda {

// Pooling of NHWC images, with the same geometry and the same winners as on the CPU. There is a winner byte per output:
// the index of the largest value in its window, the first among equals. Each pixel of the input gathers its gradient,
// without atomics: for float the bits are the same as on the CPU.

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

// The parameter-free shortcut past layers that shrink an image and widen it.

using cpu::ShortcutGeometry;

template <class T>
void shortcut_forward(cudaStream_t stream, const ShortcutGeometry& shape, const T* input, T* output);
template <class T>
void shortcut_backward(cudaStream_t stream, const ShortcutGeometry& shape, const T* d_output, T* d_input);

// Normalisation by neighbouring channels. For float and β = 3/4 the bits are the same as on the CPU. Arithmetic is in
// float.

using cpu::ResponseNorm;

template <class T>
void local_response_norm(cudaStream_t stream, const ResponseNorm& norm, const T* input, T* output);
template <class T>
void local_response_norm_gradient(cudaStream_t stream, const ResponseNorm& norm, const T* input, const T* d_output,
                                  T* d_input);

// Dropout whose pattern depends only on counters, and is the same as on the CPU. A value is kept if its 16 bits of the
// sequence (seed, layer; step, dataset index of the sample) are at least rate × 2^16.

struct Dropout {
  std::int64_t samples = 0;
  std::int64_t size = 0;  // per sample
  float rate = 0;
  std::uint32_t layer = 0;
};

// output = kept ? input · 1/(1 − rate) : 0; gradients go through the same function. `indices` holds one dataset index
// per sample; it and `block` lie in device memory. output may be input. For float the bits are the same as on the CPU.
template <class T>
void dropout(cudaStream_t stream, const Dropout& shape, const PassBlock* block, const std::int64_t* indices,
             const T* input, T* output);

// Softmax cross-entropy.

using cpu::LossTotals;

struct Loss {
  std::int64_t rows = 0;  // rows of logits; those of samples from block->samples on count for nothing
  std::int64_t classes = 0;
  std::int64_t targets = 1;  // rows of a sample
  float smoothing = 0;       // the share of a label that is spread evenly over all classes
};

// The number of doubles of `of_rows`, in device memory.
std::int64_t loss_scratch(const Loss& shape);

// The losses of the rows from `begin` to `end`, into `of_rows`, which has those of all rows. `logits` and `d_logits`
// are those of row `begin` and the rows after it; d_logits may be logits. d_logits = the block's loss_factor × (softmax
// − target); nullptr: not wanted. The target is (1 − smoothing) · onehot(label) + smoothing / classes. Among equal
// logits the first one counts as the largest. A row whose label is negative counts for nothing, and its gradient is 0.
// All arrays lie in device memory. Sums are in double.
template <class T>
void softmax_cross_entropy(cudaStream_t stream, const Loss& shape, std::int64_t begin, std::int64_t end,
                           const PassBlock* block, const std::int32_t* labels, const T* logits, T* d_logits,
                           double* of_rows);

// *totals = the sums over all rows, in the same order in every call.
void sum_losses(cudaStream_t stream, const Loss& shape, const double* of_rows, LossTotals* totals);

// If the loss in `totals` is not finite, sets all `size` values to NaN. Otherwise it only reads the loss.
void spoil_if_not_finite(cudaStream_t stream, const LossTotals* totals, float* values, std::int64_t size);

// Converts filters of convolutions between eave's layout, [taps, inputs, outputs], and the layout that cuDNN's fast
// engines want, [outputs, taps, inputs]. taps = window height × width. The twins of kernels/cpu/filter.h.

using cpu::FilterSize;

template <class T>
void pack_filter(cudaStream_t stream, const FilterSize& size, const T* filter, T* packed);
// The reverse, for the filter's gradient.
template <class T>
void unpack_filter(cudaStream_t stream, const FilterSize& size, const T* packed, float* filter);

}  // namespace eave::cuda
