// Parts that the kernels of attention share: tiles in shared memory, products of tiles, and where a block works.
//
// A product is that of two tiles which lie in memory depth by depth: result[row][column] = Σ a[k][row] · b[k][column].
// So each thread reads neighbouring rows and columns at once. 16 × 16 threads share a result. Thread (x, y) has the
// four rows from 4 · y on, and as many columns from a multiple of x on.
#pragma once

#include <cmath>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/launch.h"
#include "kernels/elementwise/math.h"

// Before a loop that must be unrolled, so that the arrays which it indexes stay in registers.
#if defined(__CUDACC__)
#define EAVE_UNROLL _Pragma("unroll")
#else
#define EAVE_UNROLL
#endif

namespace eave::cuda {

inline constexpr int kTilePositions = 64;  // queries or keys of a tile, and channels that are computed at once
inline constexpr int kTileSide = 16;
inline constexpr int kTileDown = kTilePositions / kTileSide;  // rows of a thread
static_assert(kTileSide * kTileSide == kBlock && kTileDown == 4);

// The padding keeps packets of 16 bytes aligned, and spreads the writes of load_channels over all banks of memory.
using TileRow = float[kTilePositions + 4];

struct alignas(16) AttentionTiles {
  TileRow scores[kTilePositions];
  TileRow rows[kTilePositions];  // what was loaded last
  float of_threads[kTileSide][kTilePositions];
};

// How the channels of a head are cut: kChunks times kColumns, of which the last ones may be behind the head's.
template <int kColumnsOfChunk, int kChunksOfHead>
struct Channels {
  static constexpr int kColumns = kColumnsOfChunk, kChunks = kChunksOfHead;
  static constexpr int kDepth =
      kColumns < kTilePositions / 2 ? kColumns : kTilePositions / 2;  // of a product over channels
  static constexpr int kBlocks = kChunks == 1 ? 2 : 1;  // of a multiprocessor at least; bounds a thread's registers
};

// Calls launch(Channels) for heads of `width`.
template <class Launch>
void with_channels(int width, const Launch& launch) {
  if (width <= 16) return launch(Channels<16, 1>());
  if (width <= 32) return launch(Channels<32, 1>());
  if (width <= 64) return launch(Channels<64, 1>());
  if (width <= 128) return launch(Channels<64, 2>());
  launch(Channels<64, 4>());
}

// One head's part of an array. Row `position` begins at data + position × stride.
template <class T>
struct HeadRows {
  T* data;
  std::int64_t stride;
  int positions, width;

  __device__ float at(int position, int channel) const {
    return position < positions && channel < width ? to_float(data[position * stride + channel]) : 0.0f;
  }
};

// Queries of all heads, and keys and values of all groups, are numbered in the order in which a row has them. `input`
// may be const.
template <class T>
__device__ inline HeadRows<T> input_rows(const Attention& s, T* input, std::int64_t sample, int number) {
  const std::int64_t stride = std::int64_t{s.heads + 2 * s.groups} * s.width;
  return {input + sample * s.positions * stride + std::int64_t{number} * s.width, stride, s.positions, s.width};
}
template <class T>
__device__ inline HeadRows<T> output_rows(const Attention& s, T* output, std::int64_t sample, int head) {
  const std::int64_t stride = std::int64_t{s.heads} * s.width;
  return {output + sample * s.positions * stride + std::int64_t{head} * s.width, stride, s.positions, s.width};
}

// into[k][row] = channel `channel` + k of position `first` + row, and 0 behind the last ones. Neighbouring threads take
// eight channels of four positions: memory is read in sectors of 32 bytes, and each bank is written once.
template <int kDepth, class T>
__device__ inline void load_channels(const HeadRows<const T>& from, int first, int channel, TileRow* into) {
  constexpr int kNeighbours = 8;
  for (int i = static_cast<int>(threadIdx.x); i < kDepth * kTilePositions; i += kBlock) {
    const int row = i / kNeighbours % kTilePositions,
              k = i % kNeighbours + i / (kNeighbours * kTilePositions) * kNeighbours;
    into[k][row] = from.at(first + row, channel + k);
  }
}

// into[row][column] = channel `channel` + column of position `first` + row, and 0 behind the last ones.
template <int kColumns, class T>
__device__ inline void load_positions(const HeadRows<const T>& from, int first, int channel, TileRow* into) {
  for (int i = static_cast<int>(threadIdx.x); i < kTilePositions * kColumns; i += kBlock) {
    into[i / kColumns][i % kColumns] = from.at(first + i / kColumns, channel + i % kColumns);
  }
}

__device__ inline void store_four(float* into, float a, float b, float c, float d) {
  *reinterpret_cast<float4*>(into) = make_float4(a, b, c, d);
}

// A thread's part of a matrix of kTilePositions × kColumns.
template <int kColumns>
struct Part {
  static constexpr int kAcross = kColumns / kTileSide;
  float at[kTileDown][kAcross] = {};

  __device__ static int row() { return static_cast<int>(threadIdx.x) / kTileSide * kTileDown; }
  __device__ static int column() { return static_cast<int>(threadIdx.x) % kTileSide * kAcross; }

  // Adds the product of two tiles.
  template <int kDepth>
  __device__ void add_product(const TileRow* a, const TileRow* b) {
    for (int k = 0; k < kDepth; ++k) {
      const Lanes<kTileDown> of_a = load<kTileDown>(&a[k][row()]);
      const Lanes<kAcross> of_b = load<kAcross>(&b[k][column()]);
      EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) {
        EAVE_UNROLL for (int c = 0; c < kAcross; ++c) at[r][c] = fmaf(of_a.at[r], of_b.at[c], at[r][c]);
      }
    }
  }
  __device__ void scale(const Lanes<kTileDown>& factors) {
    EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) {
      EAVE_UNROLL for (int c = 0; c < kAcross; ++c) at[r][c] *= factors.at[r];
    }
  }
  // Columns from `channel` on, of the positions from `first` on. Writes those that exist.
  template <class T>
  __device__ void write(const HeadRows<T>& into, int first, int channel) const {
    EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) {
      EAVE_UNROLL for (int c = 0; c < kAcross; ++c) {
        const int position = first + row() + r, of_row = channel + column() + c;
        if (position >= into.positions || of_row >= into.width) continue;
        into.data[position * into.stride + of_row] = from_float<T>(at[r][c]);
      }
    }
  }
};

// A thread's scores: rows are queries, columns are keys.
using Scores = Part<kTilePositions>;
__device__ inline void keep_by_query(const Scores& scores, TileRow* into) {
  EAVE_UNROLL for (int r = 0; r < kTileDown; ++r) {
    const float* const of = scores.at[r];
    store_four(&into[scores.row() + r][scores.column()], of[0], of[1], of[2], of[3]);
  }
}
__device__ inline void keep_by_key(const Scores& scores, TileRow* into) {
  const auto& of = scores.at;
  EAVE_UNROLL for (int c = 0; c < kTileDown; ++c) {
    store_four(&into[scores.column() + c][scores.row()], of[0][c], of[1][c], of[2][c], of[3][c]);
  }
}

// The following two are called by all threads of a block. After they return, `tiles` may be overwritten.

// Adds the products of rows of two heads: a's from `first_a` on, and b's from `first_b` on.
template <class Cut, class T>
__device__ inline void add_row_products(const HeadRows<const T>& a, int first_a, const HeadRows<const T>& b,
                                        int first_b, AttentionTiles& tiles, Scores& scores) {
  for (int channel = 0; channel < a.width; channel += Cut::kDepth) {
    load_channels<Cut::kDepth>(a, first_a, channel, tiles.rows);
    load_channels<Cut::kDepth>(b, first_b, channel, tiles.rows + Cut::kDepth);
    __syncthreads();
    scores.template add_product<Cut::kDepth>(tiles.rows, tiles.rows + Cut::kDepth);
    __syncthreads();
  }
}

// A thread's part of kTilePositions rows of a head.
template <class Cut>
struct HeadPart {
  Part<Cut::kColumns> chunks[Cut::kChunks];

  // Adds tiles.scores times the rows of `of` from `first` on. This call also waits for the threads that write scores.
  template <class T>
  __device__ void add_mixture(const HeadRows<const T>& of, int first, AttentionTiles& tiles) {
    EAVE_UNROLL for (int i = 0; i < Cut::kChunks; ++i) {
      load_positions<Cut::kColumns>(of, first, i * Cut::kColumns, tiles.rows);
      __syncthreads();
      chunks[i].template add_product<kTilePositions>(tiles.scores, tiles.rows);
      __syncthreads();
    }
  }
  __device__ void scale(const Lanes<kTileDown>& factors) {
    EAVE_UNROLL for (int i = 0; i < Cut::kChunks; ++i) chunks[i].scale(factors);
  }
  template <class T>
  __device__ void write(const HeadRows<T>& into, int first) const {
    EAVE_UNROLL for (int i = 0; i < Cut::kChunks; ++i) chunks[i].write(into, first, i * Cut::kColumns);
  }
};

// The tile of a head, or of a group, on which a block works.
struct TilePlace {
  std::int64_t sample;
  int head, first;  // first position
};

inline int tiles_of(const Attention& s) { return (s.positions + kTilePositions - 1) / kTilePositions; }
inline dim3 tile_grid(const Attention& s, int heads) { return grid_of(s.samples * heads * tiles_of(s)); }

// `heads` may be the number of groups. Blocks begin in the order of the grid. So tiles with much work come first: with
// `last_first` those of the last positions.
__device__ inline TilePlace tile_place(const Attention& s, int heads, bool last_first) {
  const int tiles = (s.positions + kTilePositions - 1) / kTilePositions;
  const std::int64_t all = std::int64_t{gridDim.x} / tiles;  // heads of all samples
  const auto tile = static_cast<int>(blockIdx.x / all);
  const std::int64_t head = blockIdx.x % all;
  return {head / heads, static_cast<int>(head % heads), (last_first ? tiles - 1 - tile : tile) * kTilePositions};
}

}  // namespace eave::cuda
