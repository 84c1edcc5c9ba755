// Matrix products as Goto and van de Geijn (2008) arrange them: tiles of c stay in registers, b comes in packed panels
// that fit the innermost cache, a in packed strips. What a panel is packed from is prefetched while the one before it
// is worked on: dense weights are read once, from beyond the caches.
#include <utility>

#include "kernels/cpu/wide/pack.h"
#include "kernels/cpu/wide/tables.h"

namespace eave::cpu {
namespace {

constexpr int kTileVectors = 2;  // side by side; with the rows they fill the registers
constexpr int kTileRows = kWidth == 16 ? 14 : 6;
constexpr std::int64_t kPanel = kTileVectors * kWidth;  // columns
constexpr std::int64_t kDepth = 256;                    // a panel of this depth fits the innermost cache
constexpr std::int64_t kLine = 16;                      // floats of a cache line

// Addresses to fetch, one per step of the depth: `per_row` of them `step` apart, then `row_step` further.
struct Fetch {
  const float* at;
  std::int64_t step;
  std::int64_t per_row;
  std::int64_t row_step;
};

struct Tile {
  std::int64_t depth;
  const float* a;  // [depth][rows]
  const float* b;  // [depth][kPanel]
  float* c;
  std::int64_t c_stride;
  bool accumulate;
  const float* bias;  // kPanel of them, or nullptr
  bool relu;
  Fetch fetch;
};

template <int kRows>
struct Sums {
  Vector at[kRows][kTileVectors];
};

template <int kRows>
EAVE_INLINE void multiply_panel(const Tile& t, Sums<kRows>& sums) {
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) sums.at[i][v] = Vector{};
  }
  const float* a = t.a;
  const float* b = t.b;
  Fetch fetch = t.fetch;
  std::int64_t left = fetch.per_row;
  for (std::int64_t k = 0; k < t.depth; ++k, a += kRows, b += kPanel) {
    Vector y[kTileVectors];
    EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) y[v] = load(b + v * kWidth);
    EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
      const Vector x = broadcast(a[i]);
      EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) sums.at[i][v] += x * y[v];
    }
    __builtin_prefetch(fetch.at, 0, 2);
    fetch.at += fetch.step;
    if (--left == 0) {
      fetch.at += fetch.row_step;
      left = fetch.per_row;
    }
  }
}

template <int kRows>
EAVE_INLINE void store_sums(const Tile& t, const Sums<kRows>& sums) {
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) store(t.c + i * t.c_stride + v * kWidth, sums.at[i][v]);
  }
}

template <int kRows>
EAVE_INLINE void add_sums(const Tile& t, const Sums<kRows>& sums) {
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) {
      float* c = t.c + i * t.c_stride + v * kWidth;
      store(c, sums.at[i][v] + load(c));
    }
  }
}

// bias and relu, on what was stored just now
EAVE_INLINE void finish_tile(const Tile& t, int rows) {
  const Vector lowest = t.relu ? Vector{} : Vector{} - __builtin_inff();
  for (int v = 0; v < kTileVectors; ++v) {
    const Vector bias = t.bias != nullptr ? load(t.bias + v * kWidth) : Vector{};
    for (int i = 0; i < rows; ++i) {
      float* c = t.c + i * t.c_stride + v * kWidth;
      const Vector value = load(c) + bias;
      store(c, value < lowest ? lowest : value);  // NaN passes
    }
  }
}

template <int kRows>
void multiply_tile(const Tile& t) {
  Sums<kRows> sums;
  multiply_panel(t, sums);
  if (t.accumulate) {
    add_sums(t, sums);
  } else {
    store_sums(t, sums);
  }
  if (t.bias != nullptr || t.relu) finish_tile(t, kRows);
}

template <int... kIndex>
EAVE_INLINE void multiply_rows(const Tile& tile, std::int64_t rows, std::integer_sequence<int, kIndex...>) {
  static constexpr void (*kKernels[])(const Tile&) = {multiply_tile<kIndex + 1>...};
  kKernels[rows - 1](tile);
}

// Rows cut into tiles as equal as can be: the first `longer` ones have one row more.
struct Strips {
  explicit Strips(std::int64_t rows)
      : count((rows + kTileRows - 1) / kTileRows), shorter_rows(rows / count), longer(rows % count) {}
  std::int64_t begin(std::int64_t strip) const { return strip * shorter_rows + smaller(strip, longer); }
  std::int64_t size(std::int64_t strip) const { return shorter_rows + (strip < longer ? 1 : 0); }
  std::int64_t count, shorter_rows, longer;
};

class Multiplication {
 public:
  Multiplication(const Product& product, float* scratch)
      : p_(product), strips_(product.rows), panels_((product.columns + kPanel - 1) / kPanel), scratch_(scratch) {}

  void run() {
    const std::int64_t blocks = (p_.depth + kDepth - 1) / kDepth;
    for (std::int64_t block = 0; block < blocks; ++block) {
      begin_ = cut(block, blocks);
      depth_ = cut(block + 1, blocks) - begin_;
      first_ = block == 0;
      last_ = block == blocks - 1;
      // The larger operand is packed piece by piece, the smaller one as a whole.
      p_.rows < p_.columns ? stream_panels() : stream_strips();
    }
  }

 private:
  // Where a block of the depth begins: at whole vectors, which pack faster.
  std::int64_t cut(std::int64_t block, std::int64_t blocks) const {
    return block == blocks ? p_.depth : p_.depth * block / blocks / kWidth * kWidth;
  }

  void stream_panels() {
    float* panel = scratch_;
    float* strips = panel + depth_ * kPanel + kWidth;
    for (std::int64_t s = 0; s < strips_.count; ++s) pack_strip(s, strips + strips_.begin(s) * depth_);
    for (std::int64_t j = 0; j < panels_; ++j) {
      pack_panel(j, panel);
      for (std::int64_t s = 0; s < strips_.count; ++s) {
        multiply(s, j, strips + strips_.begin(s) * depth_, panel, fetch_panel(j + 1, s));
      }
    }
  }

  void stream_strips() {
    float* strip = scratch_;
    float* panels = strip + depth_ * kTileRows + kWidth;
    for (std::int64_t j = 0; j < panels_; ++j) pack_panel(j, panels + j * depth_ * kPanel);
    for (std::int64_t s = 0; s < strips_.count; ++s) {
      pack_strip(s, strip);
      for (std::int64_t j = 0; j < panels_; ++j) {
        multiply(s, j, strip, panels + j * depth_ * kPanel, {strip, 0, 1, 0});
      }
    }
  }

  void pack_strip(std::int64_t s, float* into) const {
    const std::int64_t row = strips_.begin(s), rows = strips_.size(s);
    if (p_.a_transposed) {
      pack_narrow(p_.a + begin_ * p_.a_stride + row, p_.a_stride, depth_, rows, into);
    } else {
      pack_turned(p_.a + row * p_.a_stride + begin_, p_.a_stride, depth_, rows, into, rows);
    }
  }

  void pack_panel(std::int64_t j, float* into) const {
    const std::int64_t column = j * kPanel, columns = smaller(kPanel, p_.columns - column);
    if (!p_.b_transposed) {
      pack_straight(p_.b + begin_ * p_.b_stride + column, p_.b_stride, depth_, columns, kPanel, into, kPanel);
      return;
    }
    for (std::int64_t half = 0; half < kPanel; half += kWidth) {
      const std::int64_t rows = larger(0, smaller(columns - half, kWidth));
      pack_turned(p_.b + (column + half) * p_.b_stride + begin_, p_.b_stride, depth_, rows, into + half, kPanel);
    }
  }

  // The part of the next panel's source that strip s fetches: each strip has `depth` turns.
  Fetch fetch_panel(std::int64_t j, std::int64_t s) const {
    if (j >= panels_ || s >= kPanel / kLine) return {p_.b, 0, 1, 0};
    const std::int64_t column = j * kPanel;
    if (!p_.b_transposed) return {p_.b + begin_ * p_.b_stride + column + s * kLine, p_.b_stride, depth_, 0};
    const std::int64_t lines = (depth_ + kLine - 1) / kLine;
    return {p_.b + (column + s * kLine) * p_.b_stride + begin_, kLine, lines, p_.b_stride - lines * kLine};
  }

  void multiply(std::int64_t s, std::int64_t j, const float* strip, const float* panel, const Fetch& fetch) const {
    const std::int64_t column = j * kPanel, columns = smaller(kPanel, p_.columns - column);
    float* c = p_.c + strips_.begin(s) * p_.c_stride + column;
    const float* bias = last_ && p_.bias != nullptr ? p_.bias + column : nullptr;
    const Tile tile{depth_, strip, panel, c, p_.c_stride, !first_, bias, last_ && p_.relu, fetch};
    if (columns == kPanel) return multiply_rows(tile, strips_.size(s), kTileSizes{});
    multiply_edge(tile, strips_.size(s), columns);
  }

  // The last columns: through a full tile of their own.
  static void multiply_edge(Tile tile, std::int64_t rows, std::int64_t columns) {
    float c[kTileRows * kPanel] = {}, bias[kPanel] = {};
    float* const target = tile.c;
    if (tile.accumulate) pack_straight(target, tile.c_stride, rows, columns, kPanel, c, kPanel);
    if (tile.bias != nullptr) pack_straight(tile.bias, 0, 1, columns, kPanel, bias, kPanel);
    const std::int64_t stride = tile.c_stride;
    tile.c = c;
    tile.c_stride = kPanel;
    tile.bias = tile.bias == nullptr ? nullptr : bias;
    multiply_rows(tile, rows, kTileSizes{});
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t k = 0; k < columns; ++k) target[i * stride + k] = c[i * kPanel + k];
    }
  }

  using kTileSizes = std::make_integer_sequence<int, kTileRows>;

  const Product& p_;
  Strips strips_;
  std::int64_t panels_;
  float* scratch_;
  std::int64_t begin_ = 0, depth_ = 0;
  bool first_ = false, last_ = false;
};

}  // namespace

std::int64_t EAVE_WIDE(multiply_scratch)(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  const std::int64_t block = smaller(depth, kDepth + kWidth);
  const std::int64_t panels = (columns + kPanel - 1) / kPanel * kPanel;
  const std::int64_t whole = rows < columns ? rows + kPanel : panels + kTileRows;
  return block * whole + 2 * kWidth;
}

void EAVE_WIDE(multiply)(const Product& product, float* scratch) { Multiplication(product, scratch).run(); }

}  // namespace eave::cpu
