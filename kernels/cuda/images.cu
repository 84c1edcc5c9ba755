#include "kernels/cuda/images.h"
#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/launch.h"
#include "kernels/cuda/support/philox.h"

namespace eave::cuda {
namespace {

struct Placing {
  int top, left;
  bool flip;
};

// The same as scale() in src/data/sampling/augment.cpp.
__device__ inline int below(std::uint32_t word, int bound) {
  return static_cast<int>((std::uint64_t{word} * static_cast<std::uint64_t>(bound)) >> 32);
}

__device__ inline Placing placing_of(const Images& images, const PassBlock& block, std::int64_t index) {
  const int down = images.input.height + 2 * images.pad - images.crop_height;
  const int across = images.input.width + 2 * images.pad - images.crop_width;
  if (!images.random) return {down / 2, across / 2, false};
  const Words words = words_of(stream_of(block.seed, Purpose::kAugment, 0), static_cast<std::uint64_t>(block.step),
                               static_cast<std::uint64_t>(index));
  return {below(words.at[0], down + 1), below(words.at[1], across + 1), images.flip && (words.at[2] >> 31) != 0};
}

// Writes the output's pixel at (row, column). `image` is nullptr if there is no such sample.
template <class T>
__device__ inline void write_pixel(const Images& images, const Placing& placing, int row, int column,
                                   const std::uint8_t* image, const float* tables, T* into) {
  const int from = row + placing.top - images.pad;
  const int across = (placing.flip ? images.crop_width - 1 - column : column) + placing.left - images.pad;
  const int channels = images.input.channels;
  const bool inside =
      image != nullptr && from >= 0 && from < images.input.height && across >= 0 && across < images.input.width;
  const std::int64_t at = inside ? (std::int64_t{from} * images.input.width + across) * channels : 0;
  for (int c = 0; c < images.channels; ++c) {
    const int byte = inside && c < channels ? image[at + c] : 0;
    into[c] = from_float<T>(c < channels ? tables[c * 256 + byte] : 0.0f);
  }
}

// Each sample has several blocks. The first thread of a block finds the place of the crop.
template <class T>
__global__ void __launch_bounds__(kBlock)
    write_pixels(const Images images, const unsigned blocks_of_sample, const PassBlock* block,
                 const std::int64_t* indices, const std::uint8_t* bytes, const float* tables, T* output) {
  __shared__ Placing placing;
  __shared__ const std::uint8_t* image;
  const unsigned sample = blockIdx.x / blocks_of_sample;
  if (threadIdx.x == 0) {
    const bool there = sample < static_cast<unsigned>(block->samples);
    const std::int64_t index = there ? indices[sample] : 0;
    image = there ? bytes + index * images.input.height * images.input.width * images.input.channels : nullptr;
    placing = placing_of(images, *block, index);
  }
  __syncthreads();
  const unsigned pixel = (blockIdx.x - sample * blocks_of_sample) * kBlock + threadIdx.x;
  const auto width = static_cast<unsigned>(images.crop_width);
  const unsigned pixels = static_cast<unsigned>(images.crop_height) * width;
  if (pixel >= pixels) return;
  T* into = output + (std::int64_t{sample} * pixels + pixel) * images.channels;
  write_pixel(images, placing, static_cast<int>(pixel / width), static_cast<int>(pixel % width), image, tables, into);
}

}  // namespace

template <class T>
void write_images(cudaStream_t stream, const Images& images, const PassBlock* block, const std::int64_t* indices,
                  const std::uint8_t* bytes, const float* tables, T* output) {
  const std::int64_t blocks = blocks_for(std::int64_t{images.crop_height} * images.crop_width);
  if (images.samples == 0 || blocks == 0) return;
  EAVE_LAUNCH(write_pixels<T>, grid_of(images.samples * blocks), dim3(kBlock), stream, images, blocks, block, indices,
              bytes, tables, output);
}

template void write_images(cudaStream_t, const Images&, const PassBlock*, const std::int64_t*, const std::uint8_t*,
                           const float*, float*);
template void write_images(cudaStream_t, const Images&, const PassBlock*, const std::int64_t*, const std::uint8_t*,
                           const float*, Half*);

}  // namespace eave::cuda
