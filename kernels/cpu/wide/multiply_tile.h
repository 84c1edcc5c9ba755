// Computes a tile of c: as many rows of a as fit the registers, times a panel of b.
#pragma once

#include <utility>

#include "kernels/cpu/wide/vector.h"

namespace eave::cpu {
namespace {

constexpr int kTileVectors = 2;  // vectors side by side; with the rows they fill the registers
constexpr int kTileRows = kWidth == 16 ? 14 : 6;
constexpr std::int64_t kPanel = kTileVectors * kWidth;  // columns
constexpr std::int64_t kLine = 16;                      // floats in a cache line

constexpr std::int64_t kSteps = 2;  // steps of the depth that are unrolled
// Whether a and b may be read where the caller stores them. Tiles of narrow vectors have few multiply-adds for each
// step of the depth, and the steps of several pointers would cost more than packing.
constexpr bool kInPlace = kWidth == 16;
// From this depth on, a tile takes so long that prefetching c pays.
constexpr std::int64_t kFetchedDepth = 80;

// The place of a part of a or b, packed or (kInPlace) as the caller stores it. Also the place of memory to prefetch.
struct Walk {
  const float* from;
  std::int64_t step;  // from one step of the depth to the next; prefetching takes a step once per kSteps
  std::int64_t next;  // from one row of a to the next, otherwise from one panel of b to the next
};

// A strip of a times `count` panels of b.
struct Tile {
  std::int64_t depth;
  Walk a, b;
  std::int64_t count;
  float* c;
  std::int64_t c_stride;
  bool accumulate;
  const float* bias;  // for the columns of all panels, or nullptr
  bool relu;
  Walk fetch;  // one line per kSteps; more would fill the queue of loads
};

template <int kRows, int kVectors>
struct Sums {
  Vector at[kRows][kVectors];
};

// Every fourth row of a has a pointer of its own; the others are addressed from it. So few registers serve all rows.
template <int kRows>
struct RowsOfA {
  static constexpr int kPointers = kInPlace ? (kRows + 3) / 4 : 1;
  explicit RowsOfA(const Walk& a) : step(a.step), next(a.next), three(3 * a.next) {
    EAVE_UNROLL for (int i = 0; i < kPointers; ++i) {
      at[i] = a.from + 4 * i * next;
      asm("" : "+r"(at[i]));  // the compiler must not compute it anew from the first one
    }
    asm("" : "+r"(three));
  }
  float value(int row) const {
    if constexpr (!kInPlace) return at[0][row];
    const float* const from = at[row / 4];
    return row % 4 == 3 ? from[three] : from[row % 4 * next];
  }
  void advance() { EAVE_UNROLL for (int i = 0; i < kPointers; ++i) at[i] += kInPlace ? step : kRows; }
  const float* at[kPointers];
  std::int64_t step, next, three;
};

template <int kRows, int kVectors>
EAVE_INLINE void multiply_step(const RowsOfA<kRows>& a, const float* b, Sums<kRows, kVectors>& sums) {
  Vector y[kVectors];
  EAVE_UNROLL for (int v = 0; v < kVectors; ++v) y[v] = load(b + v * kWidth);
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    const Vector x = broadcast(a.value(i));
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) sums.at[i][v] += x * y[v];
  }
}

template <int kRows, int kVectors>
EAVE_INLINE void multiply_panel(const Tile& tile, std::int64_t panel, Sums<kRows, kVectors>& sums) {
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) sums.at[i][v] = Vector{};
  }
  RowsOfA<kRows> a(tile.a);
  const float* b = tile.b.from + panel * tile.b.next;
  const std::int64_t b_step = kInPlace ? tile.b.step : kPanel;
  const float* fetch = tile.fetch.from + panel * tile.fetch.next;
  std::int64_t k = 0;
  for (; k + kSteps <= tile.depth; k += kSteps, fetch += tile.fetch.step) {
    EAVE_UNROLL for (int step = 0; step < kSteps; ++step, a.advance(), b += b_step) multiply_step(a, b, sums);
    __builtin_prefetch(fetch, 0, 2);
  }
  for (; k < tile.depth; ++k, a.advance(), b += b_step) multiply_step(a, b, sums);
}

// Prefetches c while the sums are computed. Otherwise writing the sums would wait for lines from beyond the caches.
template <int kRows, int kVectors>
EAVE_INLINE void fetch_target(const float* c, std::int64_t c_stride) {
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) __builtin_prefetch(c + i * c_stride + v * kWidth, 1, 3);
  }
}

template <int kRows, int kVectors>
EAVE_INLINE void store_sums(float* c, std::int64_t c_stride, bool accumulate, Sums<kRows, kVectors>& sums) {
  if (accumulate) {
    EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
      EAVE_UNROLL for (int v = 0; v < kVectors; ++v) sums.at[i][v] += load(c + i * c_stride + v * kWidth);
    }
  }
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) store(c + i * c_stride + v * kWidth, sums.at[i][v]);
  }
}

// Applies bias and relu to the stored panel. This is a separate call, so that it takes no registers from the sums.
__attribute__((noinline)) void finish_panel(float* c, std::int64_t c_stride, int rows, int vectors, const float* bias,
                                            bool relu) {
  const Vector lowest = relu ? Vector{} : Vector{} - __builtin_inff();
  for (int v = 0; v < vectors; ++v) {
    const Vector add = bias != nullptr ? load(bias + v * kWidth) : Vector{};
    for (int i = 0; i < rows; ++i) {
      float* at = c + i * c_stride + v * kWidth;
      const Vector value = load(at) + add;
      store(at, value < lowest ? lowest : value);  // NaN passes
    }
  }
}

template <int kRows, int kVectors>
void multiply_tile(const Tile& tile) {
  const Tile t = tile;
  for (std::int64_t j = 0; j < t.count; ++j) {
    float* const c = t.c + j * kPanel;
    if (t.depth >= kFetchedDepth) fetch_target<kRows, kVectors>(c, t.c_stride);
    Sums<kRows, kVectors> sums;
    multiply_panel(t, j, sums);
    store_sums(c, t.c_stride, t.accumulate, sums);
    if (t.bias != nullptr || t.relu) {
      finish_panel(c, t.c_stride, kRows, kVectors, t.bias == nullptr ? nullptr : t.bias + j * kPanel, t.relu);
    }
  }
}

template <int kVectors, int... kIndex>
EAVE_INLINE void choose_tile(const Tile& tile, std::int64_t rows, std::integer_sequence<int, kIndex...>) {
  static constexpr void (*kKernels[])(const Tile&) = {multiply_tile<kIndex + 1, kVectors>...};
  kKernels[rows - 1](tile);
}

// Multiplies `rows` ≤ kTileRows rows by kVectors vectors of the panel.
template <int kVectors>
EAVE_INLINE void multiply_rows(const Tile& tile, std::int64_t rows) {
  choose_tile<kVectors>(tile, rows, std::make_integer_sequence<int, kTileRows>{});
}

}  // namespace
}  // namespace eave::cpu
