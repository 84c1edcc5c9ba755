// Gradients of convolution → relu → max-pool. Only the winners of the pool are visited.
//
// For the weights, each sample's winners are listed by output channel. While a channel's list is walked, the channel's
// part of the gradient stays in registers, and the sample's input in the inner caches.
//
// For the input, winners are listed by place, which is a pixel of the convolution's output. The sum over a place's
// channels stays in registers, and a tile of the weights in the first-level cache.
#include <utility>

#include "kernels/cpu/wide/pack.h"
#include "kernels/cpu/wide/wide_names.h"
#include "kernels/cpu/wide/winner_lists.h"

namespace eave::cpu {
namespace {

constexpr int kMostVectors = kWidth == 16 ? 20 : 10;  // vectors held in registers at a time
constexpr int kMostRows = 5;                          // rows of the window at a time
constexpr int kMostOfTile = kWidth == 16 ? 12 : 6;    // vectors of a tile; each has two sums in registers
constexpr int kTileFloats = 8192;                     // floats of a tile of weights, kept in the first-level cache

struct Walk {
  const Live* live;
  std::int64_t count;
  const float* image;      // padded sample, at the first row and vector of the walk
  std::int64_t image_row;  // distance between rows
  float* weights;          // weights of one output channel, at the same place
  std::int64_t weight_row;
};

// weights += Σ value · image[window], for kRows × kVectors vectors.
template <int kVectors, int kRows>
void gather(const Walk& w) {
  Vector sum[kRows][kVectors];
  EAVE_UNROLL for (int row = 0; row < kRows; ++row) {
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) sum[row][v] = load(w.weights + row * w.weight_row + v * kWidth);
  }
  for (const Live* live = w.live; live != w.live + w.count; ++live) {
    const float* image = w.image + live->offset;
    const Vector value = broadcast(live->value);
    EAVE_UNROLL for (int row = 0; row < kRows; ++row) {
      EAVE_UNROLL for (int v = 0; v < kVectors; ++v) sum[row][v] +=
          value * load(image + row * w.image_row + v * kWidth);
    }
  }
  EAVE_UNROLL for (int row = 0; row < kRows; ++row) {
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) store(w.weights + row * w.weight_row + v * kWidth, sum[row][v]);
  }
}

template <int kVectors>
EAVE_INLINE void gather_rows(const Walk& walk, std::int64_t rows) {
  static_assert(kMostRows == 5);
  if constexpr (5 * kVectors <= kMostVectors) {
    if (rows == 5) return gather<kVectors, 5>(walk);
  }
  if constexpr (4 * kVectors <= kMostVectors) {
    if (rows == 4) return gather<kVectors, 4>(walk);
  }
  if constexpr (3 * kVectors <= kMostVectors) {
    if (rows == 3) return gather<kVectors, 3>(walk);
  }
  if constexpr (2 * kVectors <= kMostVectors) {
    if (rows == 2) return gather<kVectors, 2>(walk);
  }
  gather<kVectors, 1>(walk);
}

template <int... kIndex>
EAVE_INLINE void gather_vectors(const Walk& walk, std::int64_t vectors, std::int64_t rows,
                                std::integer_sequence<int, kIndex...>) {
  (void)((vectors == kIndex + 1 && (gather_rows<kIndex + 1>(walk, rows), true)) || ...);
}

// image[place] += Σ value · tile[channel], for kVectors vectors. Each sum has two halves, so that no addition waits for
// the one before it.
template <int kVectors>
void sum_places(const Place* places, std::int64_t count, const Live* live, const float* tile, float* image) {
  const Live* const first = live;
  for (const Place* place = places; place != places + count; ++place) {
    const Live* const end = first + place->end;
    if (live == end) continue;
    Vector even[kVectors] = {}, odd[kVectors] = {};
    for (; live != end; live += 2) {
      const float *a = tile + live[0].offset, *b = tile + live[1].offset;
      const Vector of_a = broadcast(live[0].value), of_b = broadcast(live[1].value);
      EAVE_UNROLL for (int v = 0; v < kVectors; ++v) even[v] += of_a * load(a + v * kWidth);
      EAVE_UNROLL for (int v = 0; v < kVectors; ++v) odd[v] += of_b * load(b + v * kWidth);
    }
    float* at = image + place->image;
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) store(at + v * kWidth, load(at + v * kWidth) + (even[v] + odd[v]));
  }
}

template <int... kIndex>
EAVE_INLINE void sum_tile(std::int64_t vectors, const Place* places, std::int64_t count, const Live* live,
                          const float* tile, float* image, std::integer_sequence<int, kIndex...>) {
  (void)((vectors == kIndex + 1 && (sum_places<kIndex + 1>(places, count, live, tile, image), true)) || ...);
}

class Gradient {
 public:
  Gradient(const PooledConvolution& shape, const PooledGradient& call, float* scratch);
  static std::int64_t scratch_size(const PooledConvolution& shape);
  void run();

 private:
  Gradient(const PooledConvolution& shape, bool wants_input);

  std::int64_t padded_size() const { return padded_height_ * image_row_ + kWidth; }
  std::int64_t channel_size() const { return s_.window_height * weight_row_; }  // weights of one output channel
  std::int64_t vectors() const { return weight_row_ / kWidth; }
  std::int64_t tiles() const { return (vectors() + tile_ - 1) / tile_; }  // of a row of the window
  std::int64_t tile_size() const { return s_.outputs * tile_ * kWidth; }
  float* take(std::int64_t size);

  void tile_weights();
  void turn_back();
  const float* pad_input(std::int64_t sample);
  void gather_weights(const float* image);
  void sum_image(std::int64_t sample);

  const PooledConvolution& s_;
  const std::int64_t padded_height_, image_row_;  // of the padded sample
  // one row of the window: width × channels, and that rounded up to whole vectors
  const std::int64_t run_, weight_row_;
  const bool copies_;        // the padded sample is a copy
  const std::int64_t tile_;  // vectors of a tile
  WinnerLists winners_;
  PooledGradient call_{};
  float* scratch_ = nullptr;
  float *padded_ = nullptr, *d_padded_ = nullptr, *tiles_ = nullptr, *d_turned_ = nullptr;
};

std::int64_t whole_vectors(std::int64_t floats) { return (floats + kWidth - 1) / kWidth; }

// The vectors of a tile, if a row of the window has `vectors`. With fewer than 4, too little would be computed with
// each value that is read.
std::int64_t tile_of(std::int64_t vectors, std::int64_t outputs) {
  const std::int64_t most = larger(4, smaller(kMostOfTile, kTileFloats / (outputs * kWidth)));
  const std::int64_t tiles = (vectors + most - 1) / most;
  return (vectors + tiles - 1) / tiles;
}

Gradient::Gradient(const PooledConvolution& shape, bool wants_input)
    : s_(shape),
      padded_height_(shape.height + 2 * shape.pad),
      image_row_(std::int64_t{1} * (shape.width + 2 * shape.pad) * shape.channels),
      run_(std::int64_t{1} * shape.window_width * shape.channels),
      weight_row_(whole_vectors(run_) * kWidth),
      copies_(shape.pad > 0 || run_ != weight_row_),
      tile_(tile_of(whole_vectors(run_), shape.outputs)),
      winners_(shape, image_row_, wants_input ? tile_ * kWidth : 0) {}

Gradient::Gradient(const PooledConvolution& shape, const PooledGradient& call, float* scratch)
    : Gradient(shape, call.d_input != nullptr) {
  call_ = call;
  scratch_ = scratch;
  padded_ = take(padded_size());
  d_turned_ = take(s_.outputs * channel_size());
  winners_.lend(take(winners_.scratch_size()));
  if (call.d_input == nullptr) return;
  d_padded_ = take(padded_size());
  tiles_ = take(s_.window_height * tiles() * tile_size());
}

std::int64_t Gradient::scratch_size(const PooledConvolution& shape) {
  const Gradient g(shape, true);
  constexpr std::int64_t kPieces = 5, kSlack = 16;
  return 2 * g.padded_size() + shape.outputs * g.channel_size() + shape.window_height * g.tiles() * g.tile_size() +
         g.winners_.scratch_size() + kPieces * kSlack;
}

// Takes a piece of scratch, rounded up to whole cache lines.
float* Gradient::take(std::int64_t size) {
  float* piece = scratch_;
  scratch_ += (size + 15) / 16 * 16;
  return piece;
}

void fill_zero(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = 0;
}

void Gradient::run() {
  fill_zero(d_turned_, s_.outputs * channel_size());
  if (copies_) fill_zero(padded_, padded_size());
  if (call_.d_input != nullptr) tile_weights();
  const std::int64_t outputs = std::int64_t{1} * s_.rows * s_.columns * s_.outputs;
  for (std::int64_t sample = 0; sample < call_.samples; ++sample) {
    winners_.list(call_.winners + sample * outputs, call_.d_output + sample * outputs);
    gather_weights(pad_input(sample));
    if (call_.d_input != nullptr) sum_image(sample);
  }
  turn_back();
}

// Fills tiles[row of the window][tile of the row][output][value in the tile].
void Gradient::tile_weights() {
  for (std::int64_t row = 0; row < s_.window_height; ++row) {
    for (std::int64_t v = 0; v < vectors(); ++v) {
      pack_turned(call_.weights + (row * run_ + v * kWidth) * s_.outputs, s_.outputs, s_.outputs,
                  smaller(kWidth, run_ - v * kWidth),
                  tiles_ + (row * tiles() + v / tile_) * tile_size() + v % tile_ * kWidth, tile_ * kWidth);
    }
  }
}

// Writes d_turned[output][row of the window][value in the row] back to d_weights, in the layout of the weights.
void Gradient::turn_back() {
  for (std::int64_t row = 0; row < s_.window_height; ++row) {
    for (std::int64_t output = 0; output < s_.outputs; output += kWidth) {
      pack_turned(d_turned_ + output * channel_size() + row * weight_row_, channel_size(), run_, kWidth,
                  call_.d_weights + row * run_ * s_.outputs + output, s_.outputs);
    }
  }
}

const float* Gradient::pad_input(std::int64_t sample) {
  const std::int64_t row_size = std::int64_t{1} * s_.width * s_.channels;
  const float* input = call_.input + sample * s_.height * row_size;
  if (!copies_) return input;
  for (std::int64_t row = 0; row < s_.height; ++row) {
    float* into = padded_ + (row + s_.pad) * image_row_ + s_.pad * s_.channels;
    for (std::int64_t i = 0; i < row_size; ++i) into[i] = input[row * row_size + i];
  }
  return padded_;
}

void Gradient::gather_weights(const float* image) {
  const std::int64_t pieces = (vectors() + kMostVectors - 1) / kMostVectors;
  const std::int64_t piece = (vectors() + pieces - 1) / pieces;
  const std::int64_t most_rows = smaller(kMostRows, kMostVectors / piece);
  for (std::int64_t output = 0; output < s_.outputs; ++output) {
    for (std::int64_t row = 0; row < s_.window_height; row += most_rows) {
      for (std::int64_t v = 0; v < vectors(); v += piece) {
        const Walk walk{winners_.of_output(output),
                        winners_.count(output),
                        image + row * image_row_ + v * kWidth,
                        image_row_,
                        d_turned_ + output * channel_size() + row * weight_row_ + v * kWidth,
                        weight_row_};
        gather_vectors(walk, smaller(piece, vectors() - v), smaller(most_rows, s_.window_height - row),
                       std::make_integer_sequence<int, kMostVectors>{});
      }
    }
  }
}

void Gradient::sum_image(std::int64_t sample) {
  const std::int64_t row_size = std::int64_t{1} * s_.width * s_.channels;
  float* d_input = call_.d_input + sample * s_.height * row_size;
  float* image = copies_ ? d_padded_ : d_input;
  fill_zero(image, copies_ ? padded_size() : padded_height_ * image_row_);
  const float* tile = tiles_;
  for (std::int64_t row = 0; row < s_.window_height; ++row) {
    for (std::int64_t v = 0; v < vectors(); v += tile_, tile += tile_size()) {
      sum_tile(smaller(tile_, vectors() - v), winners_.places(), winners_.place_count(), winners_.by_place(), tile,
               image + row * image_row_ + v * kWidth, std::make_integer_sequence<int, kMostOfTile>{});
    }
  }
  if (!copies_) return;
  for (std::int64_t row = 0; row < s_.height; ++row) {
    const float* from = d_padded_ + (row + s_.pad) * image_row_ + s_.pad * s_.channels;
    for (std::int64_t i = 0; i < row_size; ++i) d_input[row * row_size + i] = from[i];
  }
}

}  // namespace

std::int64_t EAVE_WIDE(pooled_gradient_scratch)(const PooledConvolution& shape) {
  return Gradient::scratch_size(shape);
}

void EAVE_WIDE(pooled_gradient)(const PooledConvolution& shape, const PooledGradient& gradient, float* scratch) {
  Gradient(shape, gradient, scratch).run();
}

}  // namespace eave::cpu
