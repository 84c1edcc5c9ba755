// Causal self-attention (AttentionShape of src/device/operations.h), the twin of src/device/cpu/cpu_attention.cpp. T is
// float or Half; products and sums are in float. Blocks work on tiles of queries and keys in shared memory, with the
// running softmax of Dao et al. 2022 (FlashAttention), so no row of scores is ever whole. Sums have a fixed order and
// use no atomics, so equal inputs give equal bits.
#pragma once

#include <cstdint>

#include "kernels/cuda/support/half.h"
#include "kernels/cuda/support/pass_block.h"

namespace eave::cuda {

struct Attention {
  std::int64_t samples = 0;
  int positions = 0, heads = 0, groups = 0, width = 0;
  std::int64_t input_row() const { return std::int64_t{heads + 2 * groups} * width; }
  std::int64_t output_row() const { return std::int64_t{heads} * width; }
};

inline constexpr int kMostHeadWidth = 256;  // threads keep a head's results of a tile in registers

// Which shares become 0: the same as on the CPU. `indices` holds one dataset index per sample; it and `block` lie in
// device memory.
struct ShareDropout {
  float rate = 0;  // 0: none; then the rest has no meaning
  std::uint32_t layer = 0;
  const PassBlock* block = nullptr;
  const std::int64_t* indices = nullptr;
};

// log_sums gets the logarithm of each row's sum of exponentials, [sample, head, position]; nullptr: not wanted.
template <class T>
void attention(cudaStream_t stream, const Attention& shape, const ShareDropout& dropout, const T* input, T* output,
               float* log_sums);

inline std::int64_t attention_scratch(const Attention& shape) {  // floats
  return shape.samples * shape.heads * shape.positions;
}
template <class T>
void attention_gradient(cudaStream_t stream, const Attention& shape, const ShareDropout& dropout, const T* input,
                        const T* output, const float* log_sums, const T* d_output, T* d_input, float* scratch);

}  // namespace eave::cuda
