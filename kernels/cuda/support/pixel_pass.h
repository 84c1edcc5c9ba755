// Passes over images of samples × rows × columns pixels whose channels are contiguous. A thread takes a packet of
// channels of one pixel. A pass has
//
//     static constexpr int kWidth;
//     template <int kWidth> __device__ void apply(const Pixel& pixel, int channel) const;
#pragma once

#include <limits>
#include <string>

#include "eave/check.h"
#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/launch.h"

namespace eave::cuda {

struct Pixel {
  std::int64_t sample;
  int row, column;
};

struct Pixels {
  std::int64_t samples = 0;
  int rows = 0, columns = 0, channels = 0;
};

template <int kWidth, class Pass>
__global__ void __launch_bounds__(kBlock) run_pixels(const Pass pass, const unsigned rows, const unsigned columns,
                                                     const unsigned packets, const unsigned count) {
  // In 32 bits: divisions of 64 bits would cost more than the access to memory.
  const unsigned thread = blockIdx.x * kBlock + threadIdx.x;
  if (thread >= count) return;
  const unsigned pixel = thread / packets, row = pixel / columns, sample = row / rows;
  pass.template apply<kWidth>(Pixel{static_cast<std::int64_t>(sample), static_cast<int>(row - sample * rows),
                                    static_cast<int>(pixel - row * columns)},
                              static_cast<int>((thread - pixel * packets) * kWidth));
}

template <int kWidth, class Pass>
void enqueue_pixels_as(const char* name, cudaStream_t stream, const Pass& pass, const Pixels& of) {
  const std::int64_t packets = of.channels / kWidth;
  const std::int64_t count = of.samples * of.rows * of.columns * packets;
  if (count == 0) return;
  EAVE_CHECK(count <= std::numeric_limits<std::uint32_t>::max() - kBlock, std::to_string(count) + " packets");
  launch(name, run_pixels<kWidth, Pass>, grid_of(blocks_for(count)), dim3(kBlock), stream, pass, of.rows, of.columns,
         packets, count);
}

template <class Pass>
void enqueue_pixels(const char* name, cudaStream_t stream, const Pass& pass, const Pixels& of, bool packets) {
  packets ? enqueue_pixels_as<Pass::kWidth>(name, stream, pass, of) : enqueue_pixels_as<1>(name, stream, pass, of);
}

}  // namespace eave::cuda
