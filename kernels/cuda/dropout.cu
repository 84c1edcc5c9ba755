#include <cmath>

#include "kernels/cuda/layers.h"
#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/launch.h"
#include "kernels/cuda/support/philox.h"

namespace eave::cuda {
namespace {

constexpr int kValues = 8;  // values that one call of the generator decides: four words of 32 bits

struct Rule {
  std::uint32_t threshold;
  float factor;
  std::uint32_t layer;
};

__device__ inline float kept(const Rule& rule, const Words& words, int k, float value) {
  const std::uint32_t bits = (words.at[k / 2] >> (k % 2 * 16)) & 0xffff;
  return bits >= rule.threshold ? value * rule.factor : 0;
}

// A row of blocks (one blockIdx.y) handles one sample, then every gridDim.y-th sample after it.
template <bool kPackets, class T>
__global__ void __launch_bounds__(kBlock)
    drop(const Rule rule, const std::int64_t samples, const std::int64_t size, const PassBlock* block,
         const std::int64_t* indices, const T* input, T* output) {
  const std::int64_t eight = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, first = eight * kValues;
  if (first >= size) return;
  const std::uint64_t stream = stream_of(block->seed, Purpose::kDropout, rule.layer);
  const std::uint64_t step = static_cast<std::uint64_t>(block->step) << 32;
  for (std::int64_t sample = blockIdx.y; sample < samples; sample += gridDim.y) {
    const Words words =
        words_of(stream, step ^ static_cast<std::uint64_t>(indices[sample]), static_cast<std::uint64_t>(eight));
    const std::int64_t at = sample * size + first;
    if constexpr (kPackets) {
      auto values = load<kValues>(input + at);
      for (int k = 0; k < kValues; ++k) values.at[k] = kept(rule, words, k, values.at[k]);
      store(output + at, values);
    } else {
      for (int k = 0; k < kValues; ++k) {
        if (first + k < size) output[at + k] = from_float<T>(kept(rule, words, k, to_float(input[at + k])));
      }
    }
  }
}

}  // namespace

template <class T>
void dropout(cudaStream_t stream, const Dropout& shape, const PassBlock* block, const std::int64_t* indices,
             const T* input, T* output) {
  if (shape.samples == 0 || shape.size == 0) return;
  const Rule rule = {static_cast<std::uint32_t>(std::lround(shape.rate * 65536.0f)), 1.0f / (1.0f - shape.rate),
                     shape.layer};
  const std::int64_t eights = (shape.size + kValues - 1) / kValues;
  constexpr std::int64_t kMostY = 65535, kThreads = 128;
  dim3 grid = grid_of((eights + kThreads - 1) / kThreads);
  grid.y = static_cast<unsigned>(shape.samples < kMostY ? shape.samples : kMostY);
  const bool packets = shape.size % kValues == 0 && elements_before_packet(kValues, input, output) == 0;
  packets ? EAVE_LAUNCH((drop<true, T>), grid, dim3(kThreads), stream, rule, shape.samples, shape.size, block, indices,
                        input, output)
          : EAVE_LAUNCH((drop<false, T>), grid, dim3(kThreads), stream, rule, shape.samples, shape.size, block, indices,
                        input, output);
}

template void dropout(cudaStream_t, const Dropout&, const PassBlock*, const std::int64_t*, const float*, float*);
template void dropout(cudaStream_t, const Dropout&, const PassBlock*, const std::int64_t*, const Half*, Half*);

}  // namespace eave::cuda
