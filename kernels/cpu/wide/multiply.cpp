// Matrix products in the arrangement of Goto and van de Geijn (2008). Tiles of c stay in registers, b is read in
// panels, and a in strips. What is read often is packed first. Weights are read once, from beyond the caches: while one
// part is multiplied, the next part is prefetched.
#include <unistd.h>

#include "kernels/cpu/wide/multiply_dots.h"
#include "kernels/cpu/wide/multiply_tile.h"
#include "kernels/cpu/wide/pack.h"
#include "kernels/cpu/wide/wide_names.h"

namespace eave::cpu {
namespace {

// The depth that is worked on at a time. A panel of kDepth fits the first-level cache, and all rows of b fit the next
// one. If b is transposed, whole rows of it are packed. If a is transposed and deeper than kDepth, parts of half that
// depth were faster on an Intel Xeon, and so is kBroadDepth for broad tiles, whose panels stay in the second-level
// cache anyway (bench/results/compute-causes.md).
constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kTransposedDepth = 1024;
constexpr std::int64_t kStripDepth = 128;
constexpr std::int64_t kBroadDepth = 384;
// If there are at most this many rows and the depth is at least this, dot products, which pack nothing, cost less than
// packing a transposed b.
constexpr std::int64_t kMostDotRows = 64;
constexpr std::int64_t kLeastDotDepth = 128;

// Multiplied by so many panels of b, a strip of a takes long enough to prefetch the next strip.
constexpr std::int64_t kFetchPanels = 2;

// A panel of b that meets so many strips takes long enough to prefetch the next panel.
constexpr std::int64_t kFetchStrips = 4;

// Broad tiles are for first-level caches of at least this many bytes.
constexpr long kBroadTilesCache = 48 << 10;
// So many floats of b, or of a, stay in the second-level cache when they are packed.
constexpr std::int64_t kMostPacked = 192 << 10;
constexpr std::int64_t kMostStrips = 256 << 10;
// With at least this many columns, a last panel that is not full wastes little.
constexpr std::int64_t kManyColumns = 2048;

// A gradient of weights of at least this many floats is written past the caches. The optimizer reads it when all other
// gradients are written, and by then it would have left the caches anyway.
constexpr std::int64_t kPastCaches = 1 << 20;

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

std::int64_t depth_of_strips(const Product& p) {
  // If b has few columns, it is as small with more of its depth packed at a time.
  if (p.b_transposed || p.columns <= NarrowTiles::kPanel) return kTransposedDepth;
  return kWidth == 16 && p.a_transposed && p.depth > kDepth ? kStripDepth : kDepth;
}

// Whether columns by depth_of_strips fit the second-level cache.
bool fits_packed(const Product& p) { return p.columns * smaller(p.depth, depth_of_strips(p)) <= kMostPacked; }

bool has_broad_tiles(const Product& p) {
  static const bool has_large_cache = sysconf(_SC_LEVEL1_DCACHE_SIZE) >= kBroadTilesCache;
  return kWidth == 16 && has_large_cache && (p.columns % BroadTiles::kPanel == 0 || p.columns >= kManyColumns);
}

// Whether each panel of b meets all strips of a in turn. Otherwise each strip meets all panels. If a is transposed, c
// is a gradient of weights, and c is written faster by rows than by narrow panels.
bool streams_panels(const Product& p) {
  return p.a_transposed ? has_broad_tiles(p) && !fits_packed(p) : p.rows < p.columns;
}

// Broad tiles read more of b, from the second-level cache.
bool suits_broad_tiles(const Product& p) {
  return has_broad_tiles(p) && (streams_panels(p) || (!p.a_transposed && fits_packed(p)));
}

template <class Size>
std::int64_t most_depth(const Product& p) {
  if (!streams_panels(p)) return depth_of_strips(p);
  if (p.b_transposed) return kTransposedDepth;
  return Size::kPanel == BroadTiles::kPanel ? kBroadDepth : kDepth;
}

// The rows of a whose strips are packed at a time, if panels are streamed.
std::int64_t most_rows(const Product& p, std::int64_t most_depth) { return kMostStrips / smaller(p.depth, most_depth); }

template <class Size>
class Multiplication {
 public:
  Multiplication(const Product& product, float* scratch)
      : p_(product), strips_(product.rows, Size::kRows), panels_(count_panels<Size>(product)), scratch_(scratch) {}

  void run() {
    const std::int64_t most = most_depth<Size>(p_), blocks = (p_.depth + most - 1) / most;
    for (std::int64_t block = 0; block < blocks; ++block) {
      begin_ = cut(block, blocks);
      depth_ = cut(block + 1, blocks) - begin_;
      first_ = block == 0;
      last_ = block == blocks - 1;
      streams_panels(p_) ? stream_panels(most_rows(p_, most)) : stream_strips();
    }
    if (writes_past_caches()) finish_stores();
  }

 private:
  static constexpr std::int64_t kPanel = Size::kPanel;

  // Begin of a block of the depth: at whole vectors, which pack faster.
  std::int64_t cut(std::int64_t block, std::int64_t blocks) const {
    return block == blocks ? p_.depth : p_.depth * block / blocks / kWidth * kWidth;
  }

  // For products whose larger operand is b, and for gradients of broad weights. Takes as many strips at a time as stay
  // in the second-level cache.
  void stream_panels(std::int64_t most_rows) {
    for (std::int64_t first = 0; first < strips_.count;) {
      std::int64_t end = first;
      while (end < strips_.count && strips_.begin(end) + strips_.size(end) - strips_.begin(first) <= most_rows) ++end;
      stream_panels(first, end);
      first = end;
    }
  }

  // Multiplies the strips [first, end) by all panels. Meanwhile the next part of b is prefetched: line by line in
  // memory order, so that the hardware's prefetcher joins in, or the next panel, a piece by each strip. If b is not
  // transposed, the rows of a panel are short and far apart, so they are also packed piece by piece, when a strip has
  // brought them near.
  void stream_panels(std::int64_t first, std::int64_t end) {
    const std::int64_t count = end - first;
    const bool fetches_pieces = kPanel == BroadTiles::kPanel && count >= kFetchStrips,
               packs_pieces = fetches_pieces && !p_.b_transposed;
    float* panel = scratch_;
    float* next = packs_pieces ? panel + panel_size() : panel;
    float* const strips = next + panel_size() - strips_.begin(first) * depth_;
    for (std::int64_t s = first; s < end; ++s) pack_strip(s, strips + strips_.begin(s) * depth_);
    set_fetch(p_.b + (begin_ + depth_) * p_.b_stride, p_.b_transposed || last_ ? 0 : depth_ * p_.b_stride);
    for (std::int64_t j = 0; j < panels_; ++j) {
      const bool has_next = j + 1 < panels_;
      if (p_.b_transposed) set_fetch(p_.b + (j + 1) * kPanel * p_.b_stride, has_next ? kPanel * p_.b_stride : 0);
      if (j == 0 || !packs_pieces) pack_panel(j, 0, rows_of_panel(j), panel);
      const std::int64_t rows = fetches_pieces && has_next ? rows_of_panel(j + 1) : 0;
      for (std::int64_t s = first; s < end; ++s) {
        const Strip a{strips + strips_.begin(s) * depth_, 1};
        if (rows == 0) {
          multiply(s, j, 1, a, {panel, 0}, fetches_pieces ? nothing_to_fetch() : next_fetch(1));
          continue;
        }
        const std::int64_t from = rows * (s - first) / count, to = rows * (s - first + 1) / count;
        multiply(s, j, 1, a, {panel, 0}, piece_of_panel(j + 1, from, to));
        if (packs_pieces) pack_panel(j + 1, from, to, next);
      }
      float* const packed = next;
      next = panel;
      panel = packed;
    }
  }

  std::int64_t panel_size() const { return depth_ * kPanel + kWidth; }
  std::int64_t columns_of_panel(std::int64_t j) const { return smaller(kPanel, p_.columns - j * kPanel); }
  // The rows of b that panel j lies in.
  std::int64_t rows_of_panel(std::int64_t j) const { return p_.b_transposed ? columns_of_panel(j) : depth_; }

  // The rows [from, to) of panel j, to be prefetched by one tile.
  Fetch piece_of_panel(std::int64_t j, std::int64_t from, std::int64_t to) const {
    if (from == to) return nothing_to_fetch();
    const float* const row = p_.b + from * p_.b_stride;
    return p_.b_transposed
               ? piece(row + j * kPanel * p_.b_stride + begin_, p_.b_stride, to - from, depth_)
               : piece(row + begin_ * p_.b_stride + j * kPanel, p_.b_stride, to - from, columns_of_panel(j));
  }

  // `rows` rows of `width` floats, to be prefetched by one tile. Steps shorter than a line spread them over the whole
  // tile, which was faster on an Intel Xeon than prefetches that follow each other closely.
  Fetch piece(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t width) const {
    std::int64_t step = 1;
    while (step < kLine && width / step * rows > depth_ / kSteps) step *= 2;
    const std::int64_t run = larger(1, width / step);
    return {from, step, 0, run, stride - run * step};
  }

  // For products whose larger operand is a. Its rows are read in place: packing them would cost more. A transposed a is
  // packed, because its values would come from as many places as the depth has steps.
  void stream_strips() {
    const std::int64_t whole = p_.columns / kPanel;  // the last columns need a panel that is filled up
    for (std::int64_t j = 0; j < panels_; ++j) pack_panel(j, 0, rows_of_panel(j), scratch_ + j * depth_ * kPanel);
    set_fetch(p_.b + (begin_ + depth_) * p_.b_stride, last_ || p_.b_transposed ? 0 : depth_ * p_.b_stride);
    const bool packs = !kInPlace || p_.a_transposed;
    const std::int64_t first = p_.a_transposed ? smaller(whole, kFetchPanels) : whole;
    for (std::int64_t s = 0; s < strips_.count; ++s) {
      const Strip a = packs ? pack_strip(s, scratch_ + panels_ * depth_ * kPanel) : Strip{strip(s), p_.a_stride};
      if (first > 0) multiply(s, 0, first, a, packed(0), next_strip(s + 1, first));
      if (first < whole) multiply(s, first, whole - first, a, packed(first), next_fetch(whole - first));
      if (whole < panels_) multiply(s, whole, 1, a, packed(whole), nothing_to_fetch());
    }
  }

  // The memory to prefetch while the strip before it is multiplied by `panels` panels. A row of a transposed a often
  // begins in a line that the strip before has read, so the line of the row's end is fetched: of even rows by even
  // panels of b, of odd rows by odd panels.
  Fetch next_strip(std::int64_t s, std::int64_t panels) const {
    if (!kInPlace || s == strips_.count) return nothing_to_fetch();
    return p_.a_transposed ? Fetch{strip(s) + strips_.size(s) - 1, kSteps * p_.a_stride, p_.a_stride, depth_, 0}
                           : spread(strip(s), strips_.size(s) * p_.a_stride, panels);
  }

  // `length` floats, to be prefetched by the tiles of `panels` panels, spread over them as in piece().
  Fetch spread(const float* from, std::int64_t length, std::int64_t panels) const {
    const std::int64_t places = larger(1, depth_ / kSteps), all = places * panels;
    const std::int64_t step = smaller(kLine, (length + all - 1) / all);
    return {from, step, places * step, places, 0};
  }

  Fetch lines_from(const float* from) const { return {from, kLine, depth_ / kSteps * kLine, depth_, 0}; }
  Fetch nothing_to_fetch() const { return {scratch_, 0, 0, depth_, 0}; }  // memory that is cached anyway
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

  // Packs the rows [from, to) of b that panel j lies in. If b is transposed, from must be a multiple of kWidth.
  void pack_panel(std::int64_t j, std::int64_t from, std::int64_t to, float* into) const {
    const std::int64_t column = j * kPanel;
    if (!p_.b_transposed) {
      const float* const rows = p_.b + (begin_ + from) * p_.b_stride + column;
      const std::int64_t columns = columns_of_panel(j);
      columns <= kWidth ? pack_narrow(rows, p_.b_stride, to - from, columns, into + from * kPanel, kPanel)
                        : pack_straight(rows, p_.b_stride, to - from, columns, into + from * kPanel, kPanel);
      return;
    }
    for (std::int64_t half = from; half < to; half += kWidth) {
      pack_turned(p_.b + (column + half) * p_.b_stride + begin_, p_.b_stride, depth_, smaller(to - half, kWidth),
                  into + half, kPanel);
    }
  }

  void set_fetch(const float* from, std::int64_t count) {
    fetch_ = from;
    fetch_end_ = from + count;
  }

  // Returns what the next tiles of `panels` panels prefetch.
  Fetch next_fetch(std::int64_t panels) {
    if (fetch_ >= fetch_end_) return nothing_to_fetch();
    const Fetch fetch = lines_from(fetch_);
    fetch_ += panels * fetch.next;
    return fetch;
  }

  bool writes_past_caches() const {
    return kWidth == 16 && p_.a_transposed && !p_.accumulate && first_ && last_ && p_.bias == nullptr && !p_.relu &&
           p_.rows * p_.columns >= kPastCaches && is_aligned(p_.c, p_.c_stride);
  }

  void multiply(std::int64_t s, std::int64_t j, std::int64_t count, const Strip& a, const Panels& b,
                const Fetch& fetch) const {
    const std::int64_t column = j * kPanel, columns = p_.columns - column;
    float* c = p_.c + strips_.begin(s) * p_.c_stride + column;
    const float* bias = last_ && p_.bias != nullptr ? p_.bias + column : nullptr;
    const Tile tile{
        depth_, a, b, count, c, p_.c_stride, !first_ || p_.accumulate, bias, last_ && p_.relu, writes_past_caches(),
        fetch};
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
    tile.past_caches = false;
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
  const bool is_broad = suits_broad_tiles(p);
  const std::int64_t panel = is_broad ? BroadTiles::kPanel : NarrowTiles::kPanel;
  const std::int64_t most = is_broad ? most_depth<BroadTiles>(p) : most_depth<NarrowTiles>(p);
  const std::int64_t depth = smaller(p.depth, most + kWidth), columns = (p.columns + panel - 1) / panel * panel;
  if (!streams_panels(p)) return depth * (columns + NarrowTiles::kRows) + 2 * kWidth;
  return depth * (smaller(p.rows, most_rows(p, most)) + 2 * panel) + 4 * kWidth;
}

void EAVE_WIDE(multiply)(const Product& product, float* scratch) {
  if (suits_dots(product)) return multiply_dots(product);
  if constexpr (kWidth == 16) {
    if (suits_broad_tiles(product)) return Multiplication<BroadTiles>(product, scratch).run();
  }
  Multiplication<NarrowTiles>(product, scratch).run();
}

}  // namespace eave::cpu
