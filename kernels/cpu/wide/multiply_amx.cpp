// Matrix products by the matrix unit (AMX), which multiplies bfloat16 numbers 16 times as fast as vectors multiply
// floats. Each operand is split into three bfloat16 numbers; six products of these give a float's precision
// (split_parts.h). The tiles of one operand stay in the second-level cache. The other operand is split piece by piece
// and read once, from beyond the caches. Finished parts of c are written while the next part is multiplied.
#include "kernels/cpu/wide/split_parts.h"
#include "kernels/cpu/wide/wide_kernels.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kBlock = 2 * kSide;  // rows and columns of c at a time: four tiles of sums
// The operand that stays in the second-level cache: at most this many rows of a or columns of b, and as much depth as
// kKeptSize floats hold.
constexpr std::int64_t kMostRows = 256;
constexpr std::int64_t kMostColumns = 1024;
constexpr std::int64_t kKeptSize = 200 * 1024;  // floats
// The part of the other operand that is split at a time. Weights come from beyond the caches, and come fast in whole
// lines of this many columns.
constexpr std::int64_t kStreamedDepth = 128;
constexpr std::int64_t kStreamedColumns = 256;
constexpr std::int64_t kDepthOfLines = 512;
constexpr std::int64_t kStreamedLines = 64;
constexpr std::int64_t kLine = 16;  // floats in a cache line

// Eight tiles of 16 rows of 64 bytes, in the layout that ldtilecfg reads.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
const TileConfiguration kTileConfiguration;

// Makes the compiler write all stores, because the intrinsics for tile loads do not say that they read memory.
EAVE_INLINE void write_all_stores() { asm volatile("" ::: "memory"); }

// Tile registers are named by constants: 0 to 3 hold sums, 4 and 5 parts of a, 6 and 7 parts of b.
template <int kRows, int kColumns>
EAVE_INLINE void add_products() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kColumns == 2) _tile_dpbf16ps(1, 4, 7);
  if constexpr (kRows == 2) _tile_dpbf16ps(2, 5, 6);
  if constexpr (kRows == 2 && kColumns == 2) _tile_dpbf16ps(3, 5, 7);
}

template <int kRows>
EAVE_INLINE void load_a(const float* tile, std::int64_t next) {
  _tile_loadd(4, tile, 64);
  if constexpr (kRows == 2) _tile_loadd(5, tile + next, 64);
}

template <int kColumns>
EAVE_INLINE void load_b(const float* tile, std::int64_t next) {
  _tile_loadd(6, tile, 64);
  if constexpr (kColumns == 2) _tile_loadd(7, tile + next, 64);
}

// Adds all terms of one step of the depth. In this order one operand stays loaded from one term to the next.
template <int kRows, int kColumns>
EAVE_INLINE void multiply_step(const float* a, std::int64_t next_a, const float* b, std::int64_t next_b) {
  enum { kHigh = 0, kMiddle = kTileSize, kLow = 2 * kTileSize };
  load_a<kRows>(a + kHigh, next_a);
  load_b<kColumns>(b + kLow, next_b);
  add_products<kRows, kColumns>();
  load_b<kColumns>(b + kMiddle, next_b);
  add_products<kRows, kColumns>();
  load_a<kRows>(a + kMiddle, next_a);
  add_products<kRows, kColumns>();
  load_b<kColumns>(b + kHigh, next_b);
  add_products<kRows, kColumns>();
  load_a<kRows>(a + kLow, next_a);
  add_products<kRows, kColumns>();
  load_a<kRows>(a + kHigh, next_a);
  add_products<kRows, kColumns>();
}

template <int kRows, int kColumns>
EAVE_INLINE void load_sums(const float* sums, std::int64_t stride) {
  _tile_loadd(0, sums, 4 * stride);
  if constexpr (kColumns == 2) _tile_loadd(1, sums + kSide, 4 * stride);
  if constexpr (kRows == 2) _tile_loadd(2, sums + kSide * stride, 4 * stride);
  if constexpr (kRows == 2 && kColumns == 2) _tile_loadd(3, sums + kSide * stride + kSide, 4 * stride);
}

template <int kRows, int kColumns>
EAVE_INLINE void store_sums(float* sums, std::int64_t stride) {
  _tile_stored(0, sums, 4 * stride);
  if constexpr (kColumns == 2) _tile_stored(1, sums + kSide, 4 * stride);
  if constexpr (kRows == 2) _tile_stored(2, sums + kSide * stride, 4 * stride);
  if constexpr (kRows == 2 && kColumns == 2) _tile_stored(3, sums + kSide * stride + kSide, 4 * stride);
}

// The first tile of an operand for a block of sums.
struct From {
  const float* at;
  std::int64_t next;  // distance to the second row or column of tiles
};

// Adds `steps` steps of the depth to a block of kRows × kColumns tiles of sums.
template <int kRows, int kColumns>
void multiply_block(From a, From b, std::int64_t steps, bool accumulate, float* sums, std::int64_t stride) {
  write_all_stores();
  if (accumulate) {
    load_sums<kRows, kColumns>(sums, stride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    multiply_step<kRows, kColumns>(a.at, a.next, b.at, b.next);
    a.at += kParts * kTileSize;
    b.at += kParts * kTileSize;
  }
  store_sums<kRows, kColumns>(sums, stride);
}

using MultiplyBlock = void (*)(From, From, std::int64_t, bool, float*, std::int64_t);
constexpr MultiplyBlock kMultiplyBlock[2][2] = {{multiply_block<1, 1>, multiply_block<1, 2>},
                                                {multiply_block<2, 1>, multiply_block<2, 2>}};

float* aligned(float* at) { return reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(at) + 63) / 64 * 64); }

// Whether a is the operand that stays in the cache. If a is transposed, c is a gradient of weights, and c is written
// faster by whole rows than by columns.
bool keeps_a(const Product& p) { return p.rows < p.columns && !p.a_transposed; }

// The number of rows of a, or of columns of b, of the kept operand.
std::int64_t all_kept(const Product& p) { return keeps_a(p) ? p.rows : p.columns; }
std::int64_t most_kept(const Product& p) { return smaller(all_kept(p), keeps_a(p) ? kMostRows : kMostColumns); }

std::int64_t most_streamed(const Product& p) {
  return keeps_a(p) ? smaller(p.columns, p.b_transposed ? kStreamedLines : kStreamedColumns) : kBlock;
}
std::int64_t streamed_depth(const Product& p) { return keeps_a(p) && p.b_transposed ? kDepthOfLines : kStreamedDepth; }

// The depth that is kept at a time. All parts are as equal as can be.
std::int64_t most_depth(const Product& p) {
  const std::int64_t steps = round_up(p.depth, kTileDepth);
  const std::int64_t most = larger(1, kKeptSize / (round_up(most_kept(p), kSide) * kParts * kTileSize));
  return round_up(steps, round_up(steps, most)) * kTileDepth;
}

// Sizes of the pieces of scratch, in floats.
struct ScratchSizes {
  explicit ScratchSizes(const Product& p)
      : sums_stride(round_up(keeps_a(p) ? most_streamed(p) : most_kept(p), kBlock) * kBlock + kLine),
        kept(tiles_size(most_kept(p), most_depth(p))),
        streamed(tiles_size(most_streamed(p), streamed_depth(p))),
        sums(round_up(keeps_a(p) ? most_kept(p) : kBlock, kBlock) * kBlock * sums_stride) {}
  std::int64_t sums_stride;  // one line more than the columns: else all rows would share the same cache sets
  std::int64_t kept, streamed, sums;
};

// The pieces of scratch, in one block of memory that may begin at any address.
struct Scratch {
  Scratch(const ScratchSizes& sizes, float* memory)
      : sums_stride(sizes.sums_stride),
        kept(aligned(memory)),
        streamed(kept + sizes.kept),
        sums(streamed + sizes.streamed),
        other_sums(sums + sizes.sums) {}
  std::int64_t sums_stride;
  float *kept, *streamed, *sums, *other_sums;
};

// A part of c that is being computed.
struct Window {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
  float* sums = nullptr;
};

// Multiplies a product, or a part of one, whose kept operand fits the cache.
class Multiplication {
 public:
  Multiplication(const Product& part, std::int64_t most_depth, const Scratch& scratch)
      : p_(part), most_depth_(most_depth), scratch_(scratch), keeps_a_(keeps_a(part)) {}

  void run() {
    const std::int64_t all = keeps_a_ ? p_.columns : p_.rows, most = most_streamed(p_);
    for (begin_ = 0; begin_ < p_.depth; begin_ += most_depth_) {
      depth_ = smaller(most_depth_, p_.depth - begin_);
      kept_ = {scratch_.kept, round_up(depth_, kTileDepth)};
      keeps_a_ ? split_a(0, p_.rows, begin_, depth_, kept_) : split_b(0, p_.columns, begin_, depth_, kept_);
      for (std::int64_t at = 0; at < all; at += most) {
        const std::int64_t count = smaller(most, all - at);
        float* const sums = at / most % 2 == 0 ? scratch_.sums : scratch_.other_sums;
        multiply(keeps_a_ ? Window{0, at, p_.rows, count, sums} : Window{at, 0, count, p_.columns, sums});
      }
      put_rows(done_.rows);
    }
  }

 private:
  // Computes window w. Meanwhile it writes the window before to c: c lies beyond the caches, where writing has to wait.
  void multiply(const Window& w) {
    if (adds()) fetch_sums(w);
    const std::int64_t blocks = round_up(w.rows, kBlock) * round_up(w.columns, kBlock);
    for (std::int64_t depth = 0; depth < depth_; depth += streamed_depth(p_)) {
      const std::int64_t here = smaller(streamed_depth(p_), depth_ - depth), begin = begin_ + depth;
      const Tiles streamed{scratch_.streamed, round_up(here, kTileDepth)};
      keeps_a_ ? split_b(w.column, w.columns, begin, here, streamed) : split_a(w.row, w.rows, begin, here, streamed);
      const std::int64_t rows_at_a_time = round_up(done_.rows, blocks);
      const auto act = [&](std::int64_t row, std::int64_t column) {
        const From a = keeps_a_ ? from(kept_, row, depth) : from(streamed, row, 0);
        const From b = keeps_a_ ? from(streamed, column, 0) : from(kept_, column, depth);
        const MultiplyBlock add_products_to = kMultiplyBlock[w.rows - row > kSide][w.columns - column > kSide];
        add_products_to(a, b, streamed.steps, begin > 0 || p_.accumulate, w.sums + row * scratch_.sums_stride + column,
                        scratch_.sums_stride);
        put_rows(rows_at_a_time);
      };
      // The tiles of the streamed block stay in the first-level cache.
      for (std::int64_t i = 0; i < (keeps_a_ ? w.columns : w.rows); i += kBlock) {
        for (std::int64_t j = 0; j < (keeps_a_ ? w.rows : w.columns); j += kBlock) keeps_a_ ? act(j, i) : act(i, j);
      }
    }
    done_ = w;
  }

  // Whether c holds a part of the sums already.
  bool adds() const { return begin_ > 0 || p_.accumulate; }

  static From from(const Tiles& tiles, std::int64_t at, std::int64_t depth) {
    return {tiles.at(at / kSide, depth / kTileDepth, 0), tiles.steps * kParts * kTileSize};
  }

  void fetch_sums(const Window& w) const {
    for (std::int64_t row = 0; row < w.rows; ++row) {
      const float* const from = p_.c + (w.row + row) * p_.c_stride + w.column;
      float* const into = w.sums + row * scratch_.sums_stride;
      for (std::int64_t j = 0; j < w.columns; j += kSide) {
        _mm512_store_ps(into + j, _mm512_maskz_loadu_ps(first_lanes(w.columns - j), from + j));
      }
    }
  }

  // Writes up to `count` finished rows to c.
  EAVE_INLINE void put_rows(std::int64_t count) {
    for (; count > 0 && done_.rows > 0; --count) {
      begin_ + depth_ == p_.depth ? put_row(p_.bias, p_.relu) : put_row(nullptr, false);
      ++done_.row;
      --done_.rows;
      done_.sums += scratch_.sums_stride;
    }
  }

  void put_row(const float* bias, bool relu) const {
    const __m512 lowest = relu ? _mm512_setzero_ps() : _mm512_set1_ps(-__builtin_inff());
    float* const into = p_.c + done_.row * p_.c_stride + done_.column;
    for (std::int64_t j = 0; j < done_.columns; j += kSide) {
      const __mmask16 lanes = first_lanes(done_.columns - j);
      const __m512 add = _mm512_maskz_loadu_ps(bias == nullptr ? 0 : lanes, bias + done_.column + j);
      // If an operand is NaN, max returns the second one, so NaN passes.
      _mm512_mask_storeu_ps(into + j, lanes, _mm512_max_ps(lowest, _mm512_load_ps(done_.sums + j) + add));
    }
  }

  const float* a_at(std::int64_t row, std::int64_t k) const {
    return p_.a_transposed ? p_.a + k * p_.a_stride + row : p_.a + row * p_.a_stride + k;
  }
  const float* b_at(std::int64_t column, std::int64_t k) const {
    return p_.b_transposed ? p_.b + column * p_.b_stride + k : p_.b + k * p_.b_stride + column;
  }

  void split_a(std::int64_t row, std::int64_t rows, std::int64_t begin, std::int64_t depth, const Tiles& into) const {
    const auto split = p_.a_transposed ? split_columns<true> : split_lines<false>;
    split(a_at(row, begin), p_.a_stride, rows, depth, into);
  }

  void split_b(std::int64_t column, std::int64_t columns, std::int64_t begin, std::int64_t depth,
               const Tiles& into) const {
    const auto split = p_.b_transposed ? split_lines<true> : split_columns<false>;
    split(b_at(column, begin), p_.b_stride, columns, depth, into);
  }

  const Product& p_;
  const std::int64_t most_depth_;
  const Scratch& scratch_;
  const bool keeps_a_;
  Tiles kept_{nullptr, 0};
  std::int64_t begin_ = 0, depth_ = 0;  // the part of the depth that is kept
  Window done_;                         // the finished window whose rows are not all in c yet
};

// The product of the rows or columns, from `begin` on, that are kept together.
Product part_of(Product p, std::int64_t begin) {
  const std::int64_t most = most_kept(p);
  if (keeps_a(p)) {
    p.rows = smaller(most, p.rows - begin);
    p.a += begin * p.a_stride;
    p.c += begin * p.c_stride;
    return p;
  }
  p.columns = smaller(most, p.columns - begin);
  p.b += begin * (p.b_transposed ? p.b_stride : 1);
  p.c += begin;
  if (p.bias != nullptr) p.bias += begin;
  return p;
}

}  // namespace

std::int64_t multiply_scratch_amx(const Product& p) {
  const ScratchSizes sizes(p);
  return sizes.kept + sizes.streamed + 2 * sizes.sums + kLine;
}

void multiply_amx(const Product& p, float* memory) {
  const Scratch scratch(ScratchSizes(p), memory);
  const std::int64_t depth = most_depth(p);
  _tile_loadconfig(&kTileConfiguration);
  for (std::int64_t begin = 0; begin < all_kept(p); begin += most_kept(p)) {
    const Product part = part_of(p, begin);
    Multiplication(part, depth, scratch).run();
  }
  _tile_release();
}

}  // namespace eave::cpu
