// Matrix products in the arrangement of Goto and van de Geijn (2008). Tiles of c stay in registers, b is read in
// panels, and a in strips. What is read often is packed first. Weights are read once, from beyond the caches: while one
// part is multiplied, the next part is prefetched, line by line in memory order, and the hardware's prefetcher joins
// in.
#include <unistd.h>

#include "kernels/cpu/wide/multiply_dots.h"
#include "kernels/cpu/wide/multiply_tile.h"
#include "kernels/cpu/wide/pack.h"
#include "kernels/cpu/wide/wide_names.h"

namespace eave::cpu {
namespace {

// The depth that is worked on at a time. A panel of it fits the first-level cache, and all rows of b fit the next one.
// A transposed b is packed and prefetched in whole rows. If a is transposed and deeper than kDepth, parts of half that
// depth were faster on an Intel Xeon (bench/results/compute-causes.md).
constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kTransposedDepth = 1024;
constexpr std::int64_t kStripDepth = 128;
// If there are at most this many rows and the depth is at least this, dot products, which pack nothing, cost less than
// packing a transposed b.
constexpr std::int64_t kMostDotRows = 64;
constexpr std::int64_t kLeastDotDepth = 128;

// Multiplied by so many panels of b, a strip of a takes long enough to prefetch the next strip.
constexpr std::int64_t kFetchPanels = 2;

// Broad tiles are for first-level caches of at least this many bytes, and blocks of b of at most this many floats.
constexpr long kBroadTilesCache = 48 << 10;
constexpr std::int64_t kMostBroadBlock = 192 << 10;

// Cuts rows into tiles of nearly equal size: the first `longer` tiles have one more row.
struct Strips {
  Strips(std::int64_t rows, std::int64_t most)
      : count((rows + most - 1) / most), shorter_rows(rows / count), longer(rows % count) {}
  std::int64_t begin(std::int64_t strip) const { return strip * shorter_rows + smaller(strip, longer); }
  std::int64_t size(std::int64_t strip) const { return shorter_rows + (strip < longer ? 1 : 0); }
  std::int64_t count, shorter_rows, longer;
};

template <class Size>
std::int64_t count_panels(const Product& p) {
  return (p.columns + Size::kPanel - 1) / Size::kPanel;
}
std::int64_t most_depth(const Product& p) {
  // If b has few columns, it is as small with more of its depth packed at a time.
  if (p.b_transposed || p.columns <= NarrowTiles::kPanel) return kTransposedDepth;
  return kWidth == 16 && p.a_transposed && p.depth > kDepth ? kStripDepth : kDepth;
}
// If a is transposed, c is a gradient of weights, and c is written faster by rows than by columns.
bool streams_panels(const Product& p) { return p.rows < p.columns && !p.a_transposed; }

// Broad tiles read more of b, from the second-level cache. So they pay if a packed block of b fits there, or if each
// panel of it meets all strips in turn.
bool suits_broad_tiles(const Product& p) {
  static const bool has_large_cache = sysconf(_SC_LEVEL1_DCACHE_SIZE) >= kBroadTilesCache;
  const std::int64_t block = p.columns * smaller(p.depth, most_depth(p));
  return kWidth == 16 && has_large_cache && !p.a_transposed && p.columns % BroadTiles::kPanel == 0 &&
         (streams_panels(p) || block <= kMostBroadBlock);
}

template <class Size>
class Multiplication {
 public:
  Multiplication(const Product& product, float* scratch)
      : p_(product), strips_(product.rows, Size::kRows), panels_(count_panels<Size>(product)), scratch_(scratch) {}

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
  static constexpr std::int64_t kPanel = Size::kPanel;

  // Begin of a block of the depth: at whole vectors, which pack faster.
  std::int64_t cut(std::int64_t block, std::int64_t blocks) const {
    return block == blocks ? p_.depth : p_.depth * block / blocks / kWidth * kWidth;
  }

  // For products whose larger operand is b.
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
        multiply(s, j, 1, {strips + strips_.begin(s) * depth_, 1}, {panel, 0}, next_fetch(1));
      }
    }
  }

  // For products whose larger operand is a. Its rows are read in place: packing them would cost more. A transposed a is
  // packed, because its values would come from as many places as the depth has steps.
  void stream_strips() {
    const std::int64_t whole = p_.columns / kPanel;  // the last columns need a panel that is filled up
    for (std::int64_t j = 0; j < panels_; ++j) pack_panel(j, scratch_ + j * depth_ * kPanel);
    set_fetch(p_.b + (begin_ + depth_) * p_.b_stride, last_ || p_.b_transposed ? 0 : depth_ * p_.b_stride);
    const bool packs = !kInPlace || p_.a_transposed;
    const std::int64_t first = p_.a_transposed ? smaller(whole, kFetchPanels) : whole;
    for (std::int64_t s = 0; s < strips_.count; ++s) {
      const Strip a = packs ? pack_strip(s, scratch_ + panels_ * depth_ * kPanel) : Strip{strip(s), p_.a_stride};
      if (first > 0) multiply(s, 0, first, a, packed(0), next_strip(s + 1));
      if (first < whole) multiply(s, first, whole - first, a, packed(first), next_fetch(whole - first));
      if (whole < panels_) multiply(s, whole, 1, a, packed(whole), nothing_to_fetch());
    }
  }

  // The memory to prefetch while the strip before it is multiplied. A row of a transposed a often begins in a line that
  // the strip before has read, so the line of the row's end is fetched: of even rows by even panels of b, of odd rows
  // by odd panels.
  Fetch next_strip(std::int64_t s) const {
    if (!kInPlace || s == strips_.count) return nothing_to_fetch();
    return p_.a_transposed ? Fetch{strip(s) + strips_.size(s) - 1, kSteps * p_.a_stride, p_.a_stride}
                           : lines_from(strip(s));
  }

  Fetch lines_from(const float* from) const { return {from, kLine, depth_ / kSteps * kLine}; }
  Fetch nothing_to_fetch() const { return {scratch_, 0, 0}; }  // memory that is cached anyway
  Panels packed(std::int64_t j) const { return {scratch_ + j * depth_ * kPanel, depth_ * kPanel}; }
  const float* strip(std::int64_t s) const {
    const std::int64_t row = strips_.begin(s);
    return p_.a_transposed ? p_.a + begin_ * p_.a_stride + row : p_.a + begin_ + row * p_.a_stride;
  }

  Strip pack_strip(std::int64_t s, float* into) const {
    const std::int64_t rows = strips_.size(s);
    (p_.a_transposed ? pack_narrow : pack_turned)(strip(s), p_.a_stride, depth_, rows, into, rows);
    return {into, 1};
  }

  void pack_panel(std::int64_t j, float* into) const {
    const std::int64_t column = j * kPanel, columns = smaller(kPanel, p_.columns - column);
    if (!p_.b_transposed) {
      const float* from = p_.b + begin_ * p_.b_stride + column;
      columns <= kWidth ? pack_narrow(from, p_.b_stride, depth_, columns, into, kPanel)
                        : pack_straight(from, p_.b_stride, depth_, columns, into, kPanel);
      return;
    }
    for (std::int64_t half = 0; half < columns; half += kWidth) {
      const std::int64_t rows = smaller(columns - half, kWidth);
      pack_turned(p_.b + (column + half) * p_.b_stride + begin_, p_.b_stride, depth_, rows, into + half, kPanel);
    }
  }

  void set_fetch(const float* from, std::int64_t count) {
    fetch_ = from;
    fetch_end_ = from + count;
  }

  // What the next tiles of `panels` panels prefetch.
  Fetch next_fetch(std::int64_t panels) {
    if (fetch_ >= fetch_end_) return nothing_to_fetch();
    const Fetch fetch = lines_from(fetch_);
    fetch_ += panels * fetch.next;
    return fetch;
  }

  void multiply(std::int64_t s, std::int64_t j, std::int64_t count, const Strip& a, const Panels& b,
                const Fetch& fetch) const {
    const std::int64_t column = j * kPanel, columns = p_.columns - column;
    float* c = p_.c + strips_.begin(s) * p_.c_stride + column;
    const float* bias = last_ && p_.bias != nullptr ? p_.bias + column : nullptr;
    const Tile tile{depth_, a, b, count, c, p_.c_stride, !first_ || p_.accumulate, bias, last_ && p_.relu, fetch};
    if (columns < kPanel) return multiply_edge(tile, strips_.size(s), columns);
    multiply_rows<Size, Size::kVectors>(tile, strips_.size(s));
  }

  // Computes the last columns in a full tile of their own.
  static void multiply_edge(Tile tile, std::int64_t rows, std::int64_t columns) {
    float c[Size::kRows * kPanel] = {}, bias[kPanel] = {};
    float* const target = tile.c;
    const std::int64_t stride = tile.c_stride;
    if (tile.accumulate) pack_straight(target, stride, rows, columns, c, kPanel);
    if (tile.bias != nullptr) pack_straight(tile.bias, 0, 1, columns, bias, kPanel);
    tile.c = c;
    tile.c_stride = kPanel;
    tile.bias = tile.bias == nullptr ? nullptr : bias;
    columns > kWidth ? multiply_rows<Size, Size::kVectors>(tile, rows) : multiply_rows<Size, 1>(tile, rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t k = 0; k < columns; ++k) target[i * stride + k] = c[i * kPanel + k];
    }
  }

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
  return p.b_transposed && !p.a_transposed && p.rows <= kMostDotRows && p.depth >= kLeastDotDepth &&
         p.bias == nullptr && !p.relu && !p.accumulate;
}

}  // namespace

std::int64_t EAVE_WIDE(multiply_scratch)(const Product& p) {
  if (suits_dots(p)) return 0;
  const std::int64_t depth = smaller(p.depth, most_depth(p) + kWidth);
  const bool is_broad = suits_broad_tiles(p);
  const std::int64_t panel = is_broad ? BroadTiles::kPanel : NarrowTiles::kPanel;
  const std::int64_t columns = (p.columns + panel - 1) / panel * panel;
  return depth * (streams_panels(p) ? p.rows + panel : columns + NarrowTiles::kRows) + 2 * kWidth;
}

void EAVE_WIDE(multiply)(const Product& product, float* scratch) {
  if (suits_dots(product)) return multiply_dots(product);
  if constexpr (kWidth == 16) {
    if (suits_broad_tiles(product)) return Multiplication<BroadTiles>(product, scratch).run();
  }
  Multiplication<NarrowTiles>(product, scratch).run();
}

}  // namespace eave::cpu
