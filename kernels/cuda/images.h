// Converts the bytes of images in device memory to a model's inputs: crop, flip, normalise. The twin of ImageTransform
// in src/data/sampling/augment.h: it places images alike for the same (seed, step, dataset index), and by a table it
// gives the same bits.
#pragma once

#include "eave/batch.h"
#include "kernels/cuda/support/half.h"
#include "kernels/cuda/support/pass_block.h"

namespace eave::cuda {

struct Images {
  std::int64_t samples = 0;
  ImageShape input;
  int pad = 0;  // black pixels on each side, before the crop
  int crop_height = 0, crop_width = 0;
  bool random = false;  // random place of the crop; else the middle, never mirrored
  bool flip = false;    // mirrors half of the random images
  int channels = 0;     // channels of the output; those beyond the input's are 0
};

// All arrays lie in device memory. T is float or Half.
// - `indices` has one dataset index per sample: the image to take, and the counter of its randomness.
// - `bytes` holds images of the input's shape, HWC.
// - `tables` holds 256 numbers per channel of the input: the value of each byte.
// - `output` gets samples × crop_height × crop_width × channels values.
template <class T>
void write_images(cudaStream_t stream, const Images& images, const PassBlock* block, const std::int64_t* indices,
                  const std::uint8_t* bytes, const float* tables, T* output);

}  // namespace eave::cuda
