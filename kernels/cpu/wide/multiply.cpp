// Matrix products as Goto and van de Geijn (2008) arrange them: tiles of c stay in registers, b comes in packed panels,
// a in packed strips. The larger operand is packed piece by piece. Weights are read once, from beyond the caches: while
// one part of them is worked on, the part that follows is fetched, line by line in the order of memory, which the
// hardware's own prefetching then joins.
#include <utility>

#include "kernels/cpu/wide/multiply_dots.h"
#include "kernels/cpu/wide/pack.h"
#include "kernels/cpu/wide/tables.h"

namespace eave::cpu {
namespace {

constexpr int kTileVectors = 2;  // side by side; with the rows they fill the registers
constexpr int kTileRows = kWidth == 16 ? 14 : 6;
constexpr std::int64_t kPanel = kTileVectors * kWidth;  // columns
constexpr std::int64_t kLine = 16;                      // floats of a cache line

// Of the depth at a time: a panel fits the innermost cache, and all of b's rows the next one; a transposed b is packed
// and fetched in whole rows.
constexpr std::int64_t kDepth = 128;
constexpr std::int64_t kTransposedDepth = 1024;
// Up to so many rows, packing a transposed b costs more than dot products, which need none.
constexpr std::int64_t kMostDotRows = 64;

constexpr std::int64_t kSteps = 2;  // of the depth, unrolled
// From this depth on a tile takes so long that fetching c beforehand pays.
constexpr std::int64_t kFetchedDepth = 80;

// One strip of a times `count` panels of b.
struct Tile {
  std::int64_t depth;
  const float* a;  // [depth][rows]
  const float* b;  // [count][depth][kPanel]
  std::int64_t count;
  float* c;
  std::int64_t c_stride;
  bool accumulate;
  const float* bias;  // for all panels, or nullptr
  bool relu;
  const float* fetch;  // a line per kSteps of the depth: more would fill the queue in which loads wait, too
};

template <int kRows>
struct Sums {
  Vector at[kRows][kTileVectors];
};

template <int kRows>
EAVE_INLINE void multiply_step(const float* a, const float* b, Sums<kRows>& sums) {
  Vector y[kTileVectors];
  EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) y[v] = load(b + v * kWidth);
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    const Vector x = broadcast(a[i]);
    EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) sums.at[i][v] += x * y[v];
  }
}

template <int kRows>
EAVE_INLINE void multiply_panel(const float* a, const float* b, std::int64_t depth, const float* fetch,
                                Sums<kRows>& sums) {
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) sums.at[i][v] = Vector{};
  }
  std::int64_t k = 0;
  for (; k + kSteps <= depth; k += kSteps, fetch += kLine) {
    EAVE_UNROLL for (int step = 0; step < kSteps; ++step, a += kRows, b += kPanel) multiply_step(a, b, sums);
    __builtin_prefetch(fetch, 0, 2);
  }
  for (; k < depth; ++k, a += kRows, b += kPanel) multiply_step(a, b, sums);
}

// While the sums form: writing them would wait for lines from beyond the caches.
template <int kRows>
EAVE_INLINE void fetch_target(const float* c, std::int64_t c_stride) {
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) __builtin_prefetch(c + i * c_stride + v * kWidth, 1, 3);
  }
}

template <int kRows>
EAVE_INLINE void store_sums(float* c, std::int64_t c_stride, bool accumulate, Sums<kRows>& sums) {
  if (accumulate) {
    EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
      EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) sums.at[i][v] += load(c + i * c_stride + v * kWidth);
    }
  }
  EAVE_UNROLL for (int i = 0; i < kRows; ++i) {
    EAVE_UNROLL for (int v = 0; v < kTileVectors; ++v) store(c + i * c_stride + v * kWidth, sums.at[i][v]);
  }
}

// bias and relu, on what was stored just now. A call of its own: it must not take registers from the sums.
__attribute__((noinline)) void finish_panel(float* c, std::int64_t c_stride, int rows, const float* bias, bool relu) {
  const Vector lowest = relu ? Vector{} : Vector{} - __builtin_inff();
  for (int v = 0; v < kTileVectors; ++v) {
    const Vector add = bias != nullptr ? load(bias + v * kWidth) : Vector{};
    for (int i = 0; i < rows; ++i) {
      float* at = c + i * c_stride + v * kWidth;
      const Vector value = load(at) + add;
      store(at, value < lowest ? lowest : value);  // NaN passes
    }
  }
}

template <int kRows>
void multiply_tile(const Tile& tile) {
  const Tile t = tile;
  for (std::int64_t j = 0; j < t.count; ++j) {
    float* const c = t.c + j * kPanel;
    if (t.depth >= kFetchedDepth) fetch_target<kRows>(c, t.c_stride);
    Sums<kRows> sums;
    multiply_panel(t.a, t.b + j * t.depth * kPanel, t.depth, t.fetch, sums);
    store_sums(c, t.c_stride, t.accumulate, sums);
    if (t.bias != nullptr || t.relu) {
      finish_panel(c, t.c_stride, kRows, t.bias == nullptr ? nullptr : t.bias + j * kPanel, t.relu);
    }
  }
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

std::int64_t most_depth(const Product& p) { return p.b_transposed ? kTransposedDepth : kDepth; }
// Where a is turned as it is packed, c is a gradient of weights: rows of it at a time are written faster than columns.
bool streams_panels(const Product& p) { return p.rows < p.columns && !p.a_transposed; }

class Multiplication {
 public:
  Multiplication(const Product& product, float* scratch)
      : p_(product), strips_(product.rows), panels_((product.columns + kPanel - 1) / kPanel), scratch_(scratch) {}

  void run() {
    const std::int64_t most = most_depth(p_), blocks = (p_.depth + most - 1) / most;
    for (std::int64_t block = 0; block < blocks; ++block) {
      begin_ = cut(block, blocks);
      depth_ = cut(block + 1, blocks) - begin_;
      first_ = block == 0;
      last_ = block == blocks - 1;
      streams_panels(p_) ? stream_panels() : stream_strips();
    }
  }

 private:
  // Where a block of the depth begins: at whole vectors, which pack faster.
  std::int64_t cut(std::int64_t block, std::int64_t blocks) const {
    return block == blocks ? p_.depth : p_.depth * block / blocks / kWidth * kWidth;
  }

  // b is the larger operand.
  void stream_panels() {
    float* panel = scratch_;
    float* strips = panel + depth_ * kPanel + kWidth;
    for (std::int64_t s = 0; s < strips_.count; ++s) pack_strip(s, strips + strips_.begin(s) * depth_);
    if (!p_.b_transposed) set_fetch(p_.b + (begin_ + depth_) * p_.b_stride, last_ ? 0 : depth_ * p_.b_stride);
    for (std::int64_t j = 0; j < panels_; ++j) {
      if (p_.b_transposed) {
        set_fetch(p_.b + (j + 1) * kPanel * p_.b_stride, j + 1 < panels_ ? kPanel * p_.b_stride : 0);
      }
      pack_panel(j, panel);
      for (std::int64_t s = 0; s < strips_.count; ++s) {
        multiply(s, j, 1, strips + strips_.begin(s) * depth_, panel, next_fetch());
      }
    }
  }

  // a is the larger operand.
  void stream_strips() {
    float* strip = scratch_;
    float* panels = strip + depth_ * kTileRows + kWidth;
    for (std::int64_t j = 0; j < panels_; ++j) pack_panel(j, panels + j * depth_ * kPanel);
    const std::int64_t whole = p_.columns / kPanel;
    for (std::int64_t s = 0; s < strips_.count; ++s) {
      pack_strip(s, strip);
      if (whole > 0) multiply(s, 0, whole, strip, panels, strip);
      if (whole < panels_) multiply(s, whole, 1, strip, panels + whole * depth_ * kPanel, strip);
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

  void set_fetch(const float* from, std::int64_t count) {
    fetch_ = from;
    fetch_end_ = from + count;
  }

  // Where the next tile goes on fetching. At the end: lines that are near anyway.
  const float* next_fetch() {
    if (fetch_ >= fetch_end_) return scratch_;
    const float* from = fetch_;
    fetch_ += depth_ / kSteps * kLine;
    return from;
  }

  void multiply(std::int64_t s, std::int64_t j, std::int64_t count, const float* strip, const float* panel,
                const float* fetch) const {
    const std::int64_t column = j * kPanel, columns = p_.columns - column;
    float* c = p_.c + strips_.begin(s) * p_.c_stride + column;
    const float* bias = last_ && p_.bias != nullptr ? p_.bias + column : nullptr;
    const Tile tile{depth_, strip, panel, count, c, p_.c_stride, !first_, bias, last_ && p_.relu, fetch};
    if (columns >= kPanel) return multiply_rows(tile, strips_.size(s), kTileSizes{});
    multiply_edge(tile, strips_.size(s), columns);
  }

  // The last columns: through a full tile of their own.
  static void multiply_edge(Tile tile, std::int64_t rows, std::int64_t columns) {
    float c[kTileRows * kPanel] = {}, bias[kPanel] = {};
    float* const target = tile.c;
    const std::int64_t stride = tile.c_stride;
    if (tile.accumulate) pack_straight(target, stride, rows, columns, kPanel, c, kPanel);
    if (tile.bias != nullptr) pack_straight(tile.bias, 0, 1, columns, kPanel, bias, kPanel);
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
  const float* fetch_ = nullptr;
  const float* fetch_end_ = nullptr;
};

bool suits_dots(const Product& p) {
  return p.b_transposed && !p.a_transposed && p.rows <= kMostDotRows && p.bias == nullptr && !p.relu;
}

}  // namespace

std::int64_t EAVE_WIDE(multiply_scratch)(const Product& p) {
  if (suits_dots(p)) return 0;
  const std::int64_t depth = smaller(p.depth, most_depth(p) + kWidth);
  const std::int64_t panels = (p.columns + kPanel - 1) / kPanel * kPanel;
  return depth * (streams_panels(p) ? p.rows + kPanel : panels + kTileRows) + 2 * kWidth;
}

void EAVE_WIDE(multiply)(const Product& product, float* scratch) {
  suits_dots(product) ? multiply_dots(product) : Multiplication(product, scratch).run();
}

}  // namespace eave::cpu
