// Splits floats into sums of three bfloat16 numbers, in the tiles that the matrix unit multiplies.
//
// x = high + middle + low, each rounded to bfloat16 (8 significant bits): 24 bits in all, so no bit of a float is lost.
// A product of two such sums has nine terms, of which six are computed. The other three (middle · low, low · middle and
// low · low) are left out. They are below 2^-26 of the product, less than what rounding it to a float takes away.
// (Henry, Tang, Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations,
// 2019.)
#pragma once

#include <immintrin.h>

#include "kernels/cpu/wide/vector.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kSide = 16;       // rows and columns of a tile of sums
constexpr std::int64_t kTileDepth = 32;  // depth of a tile of parts
constexpr int kParts = 3;                // high, middle, low
constexpr std::int64_t kTileSize = 256;  // size of a tile in floats: 1 KiB
constexpr std::int64_t kRowSize = 16;    // size of a tile's row in floats

// How far to prefetch ahead of the numbers being split.
constexpr std::int64_t kFetchedLines = 2;
constexpr std::int64_t kFetchedSteps = 2;

// The tiles of one operand: blocks of 16 of its rows (or columns) by steps of 32 of the depth, three parts for each.
struct Tiles {
  float* memory;
  std::int64_t steps;
  float* at(std::int64_t block, std::int64_t step, int part) const {
    return memory + ((block * steps + step) * kParts + part) * kTileSize;
  }
};

EAVE_INLINE std::int64_t round_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit; }
EAVE_INLINE std::int64_t tiles_size(std::int64_t count, std::int64_t depth) {
  return round_up(count, kSide) * round_up(depth, kTileDepth) * kParts * kTileSize;
}

EAVE_INLINE __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= kSide ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

// The parts of 16 numbers. The upper half of each float is the part as a bfloat16.
struct SplitParts {
  __m512i at[kParts];
};

// The last part is the rest, which has at most seven bits.
EAVE_INLINE SplitParts split(__m512 x) {
  const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32(-0x10000);
  SplitParts parts;
  EAVE_UNROLL for (int part = 0; part < kParts - 1; ++part) {
    parts.at[part] = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), upper);
    x -= _mm512_castsi512_ps(parts.at[part]);
  }
  parts.at[kParts - 1] = _mm512_castps_si512(x);
  return parts;
}

// Writes a row of each part's tile. The unit multiplies pairs of numbers that are neighbours in the depth. Any pairing
// works if both operands use the same one: here k and k + 16 of a step.
EAVE_INLINE void split_pairs(__m512 first, __m512 second, float* into) {
  const SplitParts x = split(first), y = split(second);
  EAVE_UNROLL for (int part = 0; part < kParts; ++part) {
    const __m512i lower = _mm512_srli_epi32(x.at[part], 16);
    _mm512_store_si512(into + part * kTileSize, _mm512_mask_blend_epi16(0xaaaaaaaa, lower, y.at[part]));
  }
}

EAVE_INLINE void clear_rows(float* tile, std::int64_t begin) {
  for (int part = 0; part < kParts; ++part, tile += kTileSize) {
    for (std::int64_t row = begin; row < kSide; ++row) store(tile + row * kRowSize, Vector{});
  }
}

// Turns tiles in the layout of a into that of b, or back: rows and columns of pairs change places.
EAVE_INLINE void turn_tiles(float* tile) {
  for (int part = 0; part < kParts; ++part, tile += kTileSize) {
    Vector rows[kWidth];
    EAVE_UNROLL for (int i = 0; i < kWidth; ++i) rows[i] = load(tile + i * kRowSize);
    transpose(rows);
    EAVE_UNROLL for (int i = 0; i < kWidth; ++i) store(tile + i * kRowSize, rows[i]);
  }
}

// Splits lines of `depth` numbers: rows of a, or columns of b with kTurned.
template <bool kTurned>
void split_lines(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth, const Tiles& into) {
  for (std::int64_t block = 0; block * kSide < count; ++block, from += kSide * stride) {
    const std::int64_t rows = smaller(kSide, count - block * kSide);
    for (std::int64_t step = 0; step < into.steps; ++step) {
      const std::int64_t at = step * kTileDepth;
      const __mmask16 first = first_lanes(depth - at), second = first_lanes(depth - at - kSide);
      float* const tile = into.at(block, step, 0);
      for (std::int64_t i = 0; i < rows; ++i) {
        const float* const line = from + i * stride + at;
        __builtin_prefetch(line + kFetchedSteps * kTileDepth, 0, 3);
        __builtin_prefetch(line + kFetchedSteps * kTileDepth + kSide, 0, 3);
        split_pairs(_mm512_maskz_loadu_ps(first, line), _mm512_maskz_loadu_ps(second, line + kSide),
                    tile + i * kRowSize);
      }
      if (rows < kSide) clear_rows(tile, rows);
      if constexpr (kTurned) turn_tiles(tile);
    }
  }
}

// Splits one row of pairs of each tile, from lines k and k + 16.
EAVE_INLINE void split_row(const float* from, std::int64_t stride, std::int64_t columns, std::int64_t left,
                           float* into) {
  const __mmask16 lanes = first_lanes(columns);
  __builtin_prefetch(from + kFetchedLines * stride, 0, 3);
  __builtin_prefetch(from + (kSide + kFetchedLines) * stride, 0, 3);
  split_pairs(_mm512_maskz_loadu_ps(left > 0 ? lanes : 0, from),
              _mm512_maskz_loadu_ps(left > kSide ? lanes : 0, from + kSide * stride), into);
}

// Splits `depth` lines of `count` numbers: the lines hold columns of b, or rows of a with kTurned.
template <bool kTurned>
void split_columns(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth, const Tiles& into) {
  const std::int64_t blocks = round_up(count, kSide);
  for (std::int64_t step = 0; step < into.steps; ++step, from += kTileDepth * stride) {
    const std::int64_t left = depth - step * kTileDepth;
    const auto split = [&](std::int64_t k, std::int64_t block) {
      const std::int64_t at = block * kSide;
      split_row(from + k * stride + at, stride, count - at, left - k, into.at(block, step, 0) + k * kRowSize);
    };
    if constexpr (kTurned) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        for (std::int64_t k = 0; k < kSide; ++k) split(k, block);
        turn_tiles(into.at(block, step, 0));
      }
    } else {
      for (std::int64_t k = 0; k < kSide; ++k) {
        for (std::int64_t block = 0; block < blocks; ++block) split(k, block);
      }
    }
  }
}

}  // namespace
}  // namespace eave::cpu
