// Computes a tile of c: as many rows of a as fit the registers, times a panel of b.
#pragma once

#include <utility>

#include "kernels/cpu/wide/vector.h"

namespace eave::cpu {
namespace {

// The sizes of tiles. The sums of a tile, of kRows by kVectors vectors, fill the registers. A panel of b has as many
// columns as the tile.
struct NarrowTiles {
  static constexpr int kVectors = 2;
  static constexpr int kRows = kWidth == 16 ? 14 : 6;
  static constexpr std::int64_t kPanel = kVectors * kWidth;
};
// For vectors of 16 only. Such a tile loads less for each multiply-add, but more of b.
struct BroadTiles {
  static constexpr int kVectors = 4;
  static constexpr int kRows = 6;
  static constexpr std::int64_t kPanel = kVectors * kWidth;
};

constexpr std::int64_t kLine = 16;  // floats in a cache line

constexpr int kSteps = 2;  // steps of the depth that are unrolled; 1, 4 and 8 are slower
// Whether rows of a may be read where the caller stores them. Tiles of narrow vectors have few multiply-adds for each
// step of the depth, and the steps of several pointers would cost more than packing.
constexpr bool kInPlace = kWidth == 16;
// From this depth on, a tile takes so long that prefetching c pays.
constexpr std::int64_t kFetchedDepth = 80;

// A strip of a. In place, its rows are `stride` apart and contiguous. Packed (stride 1), a step of the depth has one
// value of each row.
struct Strip {
  const float* from;
  std::int64_t stride;
};

// Packed panels of b.
struct Panels {
  const float* from;
  std::int64_t next;  // from one panel to the next
};

// Memory to prefetch, one place per kSteps; more would fill the queue of loads.
struct Fetch {
  const float* from;
  std::int64_t step;  // from one place to the next
  std::int64_t next;  // from the first place of one panel to that of the next panel
  // For broad tiles of packed rows only; the second loop would cost 1 % of a short tile. After so many places, at least
  // 1, the next one is so much further on.
  std::int64_t run, jump;
};

// A strip of a times `count` panels of b.
struct Tile {
  std::int64_t depth;
  Strip a;
  Panels b;
  std::int64_t count;
  float* c;
  std::int64_t c_stride;
  bool accumulate;
  const float* bias;  // for the columns of all panels, or nullptr
  bool relu;
  bool past_caches;  // for packed rows only: c is written past the caches; its rows must be aligned, see is_aligned
  Fetch fetch;
};

template <int kRows, int kVectors>
struct Sums {
  Vector at[kRows][kVectors];
};

template <int kRows>
struct PackedRows {
  static constexpr bool kIsPacked = true;
  explicit PackedRows(const Strip& a) : at(a.from) {}
  float value(int row, int step) const { return at[step * kRows + row]; }
  void advance(int steps) { at += steps * kRows; }
  const float* at;
};

// Every fourth row has a pointer of its own; the others are addressed from it. So few registers serve all rows.
template <int kRows>
struct RowsInPlace {
  static constexpr bool kIsPacked = false;
  static constexpr int kPointers = (kRows + 3) / 4;
  explicit RowsInPlace(const Strip& a) : stride(a.stride), three(3 * a.stride) {
    EAVE_UNROLL for (int i = 0; i < kPointers; ++i) {
      at[i] = a.from + 4 * i * stride;
      asm("" : "+r"(at[i]));  // the compiler must not compute it anew from the first one
    }
    asm("" : "+r"(three));
  }
  float value(int row, int step) const {
    const float* const from = at[row / 4] + step;
    return row % 4 == 3 ? from[three] : from[row % 4 * stride];
  }
  void advance(int steps) { EAVE_UNROLL for (int i = 0; i < kPointers; ++i) at[i] += steps; }
  const float* at[kPointers];
  std::int64_t stride, three;
};

template <int kRows, int kVectors, std::int64_t kPanel, class Rows>
EAVE_INLINE void multiply_step(const Rows& a, int step, const float* b, Sums<kRows, kVectors>& sums) {
  Vector y[kVectors];
  EAVE_UNROLL for (int v = 0; v < kVectors; ++v) y[v] = load(b + step * kPanel + v * kWidth);
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    const Vector x = broadcast(a.value(i, step));
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) sums.at[i][v] += x * y[v];
  }
}

template <int kRows, int kVectors, std::int64_t kPanel, class Rows>
EAVE_INLINE void multiply_panel(const Tile& tile, std::int64_t panel, Sums<kRows, kVectors>& sums) {
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) sums.at[i][v] = Vector{};
  }
  Rows a(tile.a);
  const float* b = tile.b.from + panel * tile.b.next;
  const float* fetch = tile.fetch.from + panel * tile.fetch.next;
  std::int64_t left = tile.depth;
  const auto multiply_steps = [&](std::int64_t count) __attribute__((always_inline)) {
    left -= count * kSteps;
    for (; count > 0; --count, b += kSteps * kPanel, fetch += tile.fetch.step) {
      __builtin_prefetch(fetch, 0, 2);
      EAVE_UNROLL for (int step = 0; step < kSteps; ++step) multiply_step<kRows, kVectors, kPanel>(a, step, b, sums);
      a.advance(kSteps);
    }
  };
  if constexpr (Rows::kIsPacked && kPanel == BroadTiles::kPanel) {
    for (; left >= kSteps; fetch += tile.fetch.jump) multiply_steps(smaller(left / kSteps, tile.fetch.run));
  } else {
    multiply_steps(left / kSteps);
  }
  for (; left > 0; --left, b += kPanel, a.advance(1)) multiply_step<kRows, kVectors, kPanel>(a, 0, b, sums);
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

template <int kRows, int kVectors>
EAVE_INLINE void store_past_caches(float* c, std::int64_t c_stride, const Sums<kRows, kVectors>& sums) {
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) store_past_caches(c + i * c_stride + v * kWidth, sums.at[i][v]);
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

template <int kRows, int kVectors, std::int64_t kPanel, template <int> class Rows>
void multiply_tile(const Tile& tile) {
  const Tile t = tile;
  for (std::int64_t j = 0; j < t.count; ++j) {
    float* const c = t.c + j * kPanel;
    const bool past_caches = kWidth == 16 && Rows<kRows>::kIsPacked && t.past_caches;
    if (t.depth >= kFetchedDepth && !past_caches) fetch_target<kRows, kVectors>(c, t.c_stride);
    Sums<kRows, kVectors> sums;
    multiply_panel<kRows, kVectors, kPanel, Rows<kRows>>(t, j, sums);
    if (past_caches) {
      store_past_caches<kRows, kVectors>(c, t.c_stride, sums);
      continue;
    }
    store_sums(c, t.c_stride, t.accumulate, sums);
    if (t.bias != nullptr || t.relu) {
      finish_panel(c, t.c_stride, kRows, kVectors, t.bias == nullptr ? nullptr : t.bias + j * kPanel, t.relu);
    }
  }
}

template <class Size, int kVectors, template <int> class Rows, int... kIndex>
EAVE_INLINE void choose_tile(const Tile& tile, std::int64_t rows, std::integer_sequence<int, kIndex...>) {
  static constexpr void (*kKernels[])(const Tile&) = {multiply_tile<kIndex + 1, kVectors, Size::kPanel, Rows>...};
  kKernels[rows - 1](tile);
}

// Multiplies `rows` ≤ Size::kRows rows by the first kVectors vectors of each panel.
template <class Size, int kVectors>
EAVE_INLINE void multiply_rows(const Tile& tile, std::int64_t rows) {
  constexpr std::make_integer_sequence<int, Size::kRows> kAll{};
  if constexpr (kInPlace) {
    if (tile.a.stride != 1) return choose_tile<Size, kVectors, RowsInPlace>(tile, rows, kAll);
  }
  choose_tile<Size, kVectors, PackedRows>(tile, rows, kAll);
}

}  // namespace
}  // namespace eave::cpu
