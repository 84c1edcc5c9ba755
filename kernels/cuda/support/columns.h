// Passes over rows × channels values (channels are contiguous), and sums over the rows of each channel.
//
// A block works on a tile: neighbouring threads take neighbouring packets of channels, and the other threads take rows
// below. So each thread reads a channel's values once and keeps them in registers. Sums have two stages and no atomics.
// First each block sums its rows, in float for a few rows and then in double; then the blocks' sums are added. The
// order of a sum depends only on the shape.
#pragma once

#include <algorithm>

#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/launch.h"

namespace eave::cuda {

struct Tiles {
  std::int64_t rows = 0, channels = 0;
  std::int64_t rows_per_block = 0;
};

struct TileLaunch {
  Tiles tiles;
  dim3 grid, block;
};

// The launch for rows that are cut into `row_blocks`.
inline TileLaunch tile_launch(std::int64_t rows, std::int64_t channels, int width, std::int64_t row_blocks) {
  const std::int64_t packets = channels / width;
  unsigned across = 1;
  while (across < packets && across < 32) across *= 2;
  TileLaunch launch = {{rows, channels, (rows + row_blocks - 1) / row_blocks}, grid_of(row_blocks), dim3(across)};
  launch.grid.y = grid_of((packets + across - 1) / across).x;
  launch.block.y = kBlock / across;
  return launch;
}

// The number of parts that rows are summed in.
inline std::int64_t sum_blocks(std::int64_t rows, std::int64_t channels) {
  // kChannels is the number of channels of a block, kMost the number of blocks that fills the GPU.
  constexpr std::int64_t kChannels = 128, kMost = 512;
  std::int64_t rows_at_once = 8;
  while (rows_at_once < kBlock && rows_at_once * channels < 8 * kChannels) rows_at_once *= 2;
  const std::int64_t across = (channels + kChannels - 1) / kChannels;
  return std::clamp<std::int64_t>(rows / (8 * rows_at_once), 1, std::max<std::int64_t>(1, kMost / across));
}

__device__ inline std::int64_t first_row(const Tiles& tiles) { return blockIdx.x * tiles.rows_per_block + threadIdx.y; }
__device__ inline std::int64_t last_row(const Tiles& tiles) {
  const std::int64_t end = (blockIdx.x + 1) * tiles.rows_per_block;
  return end < tiles.rows ? end : tiles.rows;
}

// A pass has these members. Columns holds the values of a packet of channels, and `i` is an index in the array.
//
//     template <int kWidth> struct Columns …;
//     template <int kWidth> __device__ Columns<kWidth> begin(std::int64_t channel) const;
//     template <int kWidth> __device__ void apply(const Columns<kWidth>&, std::int64_t i) const;
template <int kWidth, class Pass>
__global__ void __launch_bounds__(kBlock) run_rows(const Pass pass, const Tiles tiles) {
  const std::int64_t channel = (std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * kWidth;
  if (channel >= tiles.channels) return;
  const auto columns = pass.template begin<kWidth>(channel);
  const std::int64_t last = last_row(tiles);
  for (std::int64_t row = first_row(tiles); row < last; row += blockDim.y) {
    pass.template apply<kWidth>(columns, row * tiles.channels + channel);
  }
}

template <class Pass>
void enqueue_rows(const char* name, cudaStream_t stream, const Pass& pass, std::int64_t rows, std::int64_t channels,
                  bool packets) {
  if (rows == 0 || channels == 0) return;
  constexpr int kRowsOfThread = 4;
  const int width = packets ? Pass::kWidth : 1;
  const auto at_once = static_cast<std::int64_t>(tile_launch(rows, channels, width, 1).block.y) * kRowsOfThread;
  const TileLaunch tiles = tile_launch(rows, channels, width, (rows + at_once - 1) / at_once);
  packets ? launch(name, run_rows<Pass::kWidth, Pass>, tiles.grid, tiles.block, stream, pass, tiles.tiles)
          : launch(name, run_rows<1, Pass>, tiles.grid, tiles.block, stream, pass, tiles.tiles);
}

// Two numbers per channel, for a packet of channels.
template <class Number, int kWidth>
struct Sums {
  Number first[kWidth] = {}, second[kWidth] = {};
  template <class Other>
  __device__ void add(const Other& other) {
    for (int k = 0; k < kWidth; ++k) first[k] += other.first[k];
    for (int k = 0; k < kWidth; ++k) second[k] += other.second[k];
  }
};

// Adds up the rows of a block and writes the sums. All threads of the block call it. The channels of a packet are
// summed one after the other: shared memory for all of them at once would let fewer blocks run.
template <int kWidth>
__device__ inline void write_partial(const Sums<double, kWidth>& own, std::int64_t channel, std::int64_t channels,
                                     double* partial) {
  __shared__ double below[2][kBlock];
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
  for (int k = 0; k < kWidth; ++k) {
    below[0][at] = own.first[k];
    below[1][at] = own.second[k];
    __syncthreads();
    for (unsigned height = blockDim.y / 2; height > 0; height /= 2) {
      if (threadIdx.y < height) {
        below[0][at] += below[0][at + height * blockDim.x];
        below[1][at] += below[1][at + height * blockDim.x];
      }
      __syncthreads();
    }
    if (threadIdx.y == 0 && channel < channels) {
      double* into = partial + std::int64_t{blockIdx.x} * 2 * channels + channel + k;
      into[0] = below[0][at];
      into[channels] = below[1][at];
    }
    __syncthreads();
  }
}

// Sums a pass with apply(columns, i, Sums<float, kWidth>&).
// The layout of `partial` is [row block][first, second][channel].
template <int kWidth, class Pass>
__global__ void __launch_bounds__(kBlock) sum_rows(const Pass pass, const Tiles tiles, double* partial) {
  constexpr int kGroup = 16;  // rows summed in float
  const std::int64_t channel = (std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * kWidth;
  Sums<double, kWidth> total;
  if (channel < tiles.channels) {
    const auto columns = pass.template begin<kWidth>(channel);
    const std::int64_t last = last_row(tiles);
    for (std::int64_t row = first_row(tiles); row < last;) {
      Sums<float, kWidth> group;
      for (int k = 0; k < kGroup && row < last; ++k, row += blockDim.y) {
        pass.template apply<kWidth>(columns, row * tiles.channels + channel, group);
      }
      total.add(group);
    }
  }
  write_partial(total, channel, tiles.channels, partial);
}

// Adds the blocks' sums, and calls finish(channel, first, second) once per channel.
template <class Finish>
__global__ void __launch_bounds__(kBlock) finish_sums(const Finish finish, const double* partial,
                                                      const std::int64_t row_blocks, const std::int64_t channels) {
  constexpr unsigned kAcross = 8, kDown = kBlock / kAcross;
  __shared__ double sums[2][kDown][kAcross];
  const std::int64_t channel = std::int64_t{blockIdx.x} * kAcross + threadIdx.x;
  double first = 0, second = 0;
  if (channel < channels) {
    for (std::int64_t block = threadIdx.y; block < row_blocks; block += kDown) {
      first += partial[block * 2 * channels + channel];
      second += partial[block * 2 * channels + channels + channel];
    }
  }
  sums[0][threadIdx.y][threadIdx.x] = first;
  sums[1][threadIdx.y][threadIdx.x] = second;
  __syncthreads();
  for (unsigned height = kDown / 2; height > 0; height /= 2) {
    if (threadIdx.y < height) {
      sums[0][threadIdx.y][threadIdx.x] += sums[0][threadIdx.y + height][threadIdx.x];
      sums[1][threadIdx.y][threadIdx.x] += sums[1][threadIdx.y + height][threadIdx.x];
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && channel < channels) finish(channel, sums[0][0][threadIdx.x], sums[1][0][threadIdx.x]);
}

// The number of doubles that enqueue_sums needs as `partial`.
inline std::int64_t sums_scratch(std::int64_t rows, std::int64_t channels) {
  return sum_blocks(rows, channels) * 2 * channels;
}

template <class Pass, class Finish>
void enqueue_sums(const char* name, cudaStream_t stream, const Pass& pass, const Finish& finish, std::int64_t rows,
                  std::int64_t channels, bool packets, double* partial) {
  if (channels == 0) return;
  const std::int64_t blocks = sum_blocks(rows, channels);
  const TileLaunch tiles = tile_launch(rows, channels, packets ? Pass::kWidth : 1, blocks);
  packets ? launch(name, sum_rows<Pass::kWidth, Pass>, tiles.grid, tiles.block, stream, pass, tiles.tiles, partial)
          : launch(name, sum_rows<1, Pass>, tiles.grid, tiles.block, stream, pass, tiles.tiles, partial);
  launch(name, finish_sums<Finish>, grid_of((channels + 7) / 8), dim3(8, kBlock / 8), stream, finish, partial, blocks,
         channels);
}

// Whether rows can be read in packets: each row begins with a whole packet.
template <class... T>
inline bool rows_in_packets(int width, std::int64_t channels, const T*... pointers) {
  return channels % width == 0 && elements_before_packet(width, pointers...) == 0;
}

}  // namespace eave::cuda
