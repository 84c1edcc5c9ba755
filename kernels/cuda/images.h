// From the bytes of a data set in device memory to the numbers that a model sees: crop, flip, normalise. The twin of
// ImageWriter in src/data/augment.h: the same placing for (seed, step, dataset index), and, by a table, the same bits.
#pragma once

#include "eave/batch.h"
#include "kernels/cuda/half.h"
#include "kernels/cuda/pass_block.h"

namespace eave::cuda {

struct Images {
  std::int64_t samples = 0;
  ImageShape input;
  int pad = 0;  // black pixels on each side, before the crop
  int crop_height = 0, crop_width = 0;
  bool random = false;  // where the crop stands; else in the middle, never mirrored
  bool flip = false;    // mirrors half of the random ones
  int channels = 0;     // of the output: those of the input, the others are 0
};

// `bytes`: images of the input's shape, HWC; `indices`: which of them, one per sample, also the counter of their
// randomness; `tables`: 256 numbers per channel of the input, what a byte becomes. `output`: samples × crop_height ×
// crop_width × channels. All in device memory. T is float or Half.
template <class T>
void write_images(cudaStream_t stream, const Images& images, const PassBlock* block, const std::int64_t* indices,
                  const std::uint8_t* bytes, const float* tables, T* output);

}  // namespace eave::cuda
