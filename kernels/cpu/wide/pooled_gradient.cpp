// Gradients of convolution → relu → max-pool, visiting the winners of the pool only. Each sample's winners are listed
// by output channel; a channel's share of the weights (or of their gradient) then stays in registers while its list is
// walked. The sample's input, and the gradient of it, stay in the inner caches.
#include <utility>

#include "kernels/cpu/wide/pack.h"
#include "kernels/cpu/wide/tables.h"

namespace eave::cpu {
namespace {

constexpr int kMostVectors = kWidth == 16 ? 20 : 10;  // held in registers at a time
constexpr int kMostRows = 5;                          // of the window

// A winner: where its window begins in the padded sample, and the gradient that it passes.
struct Live {
  std::int32_t offset;
  float value;
};

struct Walk {
  const Live* live;
  std::int64_t count;
  float* image;            // padded sample, at the first row and vector of the walk
  std::int64_t image_row;  // distance of rows
  float* weights;          // of one output channel, at the same place
  std::int64_t weight_row;
};

template <int kVectors, int kRows>
struct Held {
  Vector at[kRows][kVectors];
};

template <int kVectors, int kRows>
EAVE_INLINE void load_held(const Walk& w, Held<kVectors, kRows>& held) {
  EAVE_UNROLL for (int row = 0; row < kRows; ++row) {
    EAVE_UNROLL for (int v = 0; v < kVectors; ++v) held.at[row][v] = load(w.weights + row * w.weight_row + v * kWidth);
  }
}

struct GatherWeights {
  template <int kVectors, int kRows>
  static void run(const Walk& w) {
    Held<kVectors, kRows> sum;
    load_held(w, sum);
    for (const Live* live = w.live; live != w.live + w.count; ++live) {
      const float* image = w.image + live->offset;
      const Vector value = broadcast(live->value);
      EAVE_UNROLL for (int row = 0; row < kRows; ++row) {
        EAVE_UNROLL for (int v = 0; v < kVectors; ++v) {
          sum.at[row][v] += value * load(image + row * w.image_row + v * kWidth);
        }
      }
    }
    EAVE_UNROLL for (int row = 0; row < kRows; ++row) {
      EAVE_UNROLL for (int v = 0; v < kVectors; ++v) store(w.weights + row * w.weight_row + v * kWidth, sum.at[row][v]);
    }
  }
};

struct ScatterImage {
  template <int kVectors, int kRows>
  static void run(const Walk& w) {
    Held<kVectors, kRows> weights;
    load_held(w, weights);
    for (const Live* live = w.live; live != w.live + w.count; ++live) {
      float* image = w.image + live->offset;
      const Vector value = broadcast(live->value);
      EAVE_UNROLL for (int row = 0; row < kRows; ++row) {
        EAVE_UNROLL for (int v = 0; v < kVectors; ++v) {
          float* at = image + row * w.image_row + v * kWidth;
          store(at, load(at) + value * weights.at[row][v]);
        }
      }
    }
  }
};

template <class Kernel, int kVectors>
EAVE_INLINE void walk_rows(const Walk& walk, std::int64_t rows) {
  static_assert(kMostRows == 5);
  if constexpr (5 * kVectors <= kMostVectors) {
    if (rows == 5) return Kernel::template run<kVectors, 5>(walk);
  }
  if constexpr (4 * kVectors <= kMostVectors) {
    if (rows == 4) return Kernel::template run<kVectors, 4>(walk);
  }
  if constexpr (3 * kVectors <= kMostVectors) {
    if (rows == 3) return Kernel::template run<kVectors, 3>(walk);
  }
  if constexpr (2 * kVectors <= kMostVectors) {
    if (rows == 2) return Kernel::template run<kVectors, 2>(walk);
  }
  Kernel::template run<kVectors, 1>(walk);
}

template <class Kernel, int... kIndex>
EAVE_INLINE void walk_vectors(const Walk& walk, std::int64_t vectors, std::int64_t rows,
                              std::integer_sequence<int, kIndex...>) {
  (void)((vectors == kIndex + 1 && (walk_rows<Kernel, kIndex + 1>(walk, rows), true)) || ...);
}

class Gradient {
 public:
  Gradient(const PooledConvolution& shape, const PooledGradient& call, float* scratch);
  static std::int64_t scratch_size(const PooledConvolution& shape);
  void run();

 private:
  explicit Gradient(const PooledConvolution& shape);

  std::int64_t padded_size() const { return padded_height_ * image_row_ + kWidth; }
  std::int64_t channel_size() const { return s_.window_height * weight_row_; }  // weights of one output
  std::int64_t list_size() const { return std::int64_t{s_.rows} * s_.columns + 1; }
  float* take(std::int64_t size);

  void turn_weights();
  void turn_back();
  const float* pad_input(std::int64_t sample);
  void list_winners(std::int64_t sample);
  template <class Kernel>
  void walk(float* image, float* weights);
  void scatter(std::int64_t sample);

  const PooledConvolution& s_;
  std::int64_t padded_height_, image_row_;  // of the padded sample
  std::int64_t run_, weight_row_;           // one row of the window: width × channels, and that in whole vectors
  bool copies_;                             // the padded sample is a copy
  PooledGradient call_{};
  float* scratch_ = nullptr;
  float *padded_ = nullptr, *d_padded_ = nullptr, *turned_ = nullptr, *d_turned_ = nullptr;
  Live* lists_ = nullptr;
  std::int32_t* counts_ = nullptr;
};

Gradient::Gradient(const PooledConvolution& shape)
    : s_(shape),
      padded_height_(shape.height + 2 * shape.pad),
      image_row_(std::int64_t{1} * (shape.width + 2 * shape.pad) * shape.channels),
      run_(std::int64_t{1} * shape.window_width * shape.channels),
      weight_row_((run_ + kWidth - 1) / kWidth * kWidth),
      copies_(shape.pad > 0 || run_ != weight_row_) {}

Gradient::Gradient(const PooledConvolution& shape, const PooledGradient& call, float* scratch) : Gradient(shape) {
  call_ = call;
  scratch_ = scratch;
  padded_ = take(padded_size());
  d_padded_ = take(padded_size());
  turned_ = take(s_.outputs * channel_size());
  d_turned_ = take(s_.outputs * channel_size());
  lists_ = reinterpret_cast<Live*>(take(2 * s_.outputs * list_size()));
  counts_ = reinterpret_cast<std::int32_t*>(take(s_.outputs));
}

std::int64_t Gradient::scratch_size(const PooledConvolution& shape) {
  const Gradient g(shape);
  constexpr std::int64_t kPieces = 6, kSlack = 16;
  return 2 * g.padded_size() + shape.outputs * (2 * g.channel_size() + 2 * g.list_size() + 1) + kPieces * kSlack;
}

// Pieces begin at whole cache lines.
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
  if (copies_) {
    fill_zero(padded_, padded_size());
    fill_zero(d_padded_, padded_size());
  }
  if (call_.d_input != nullptr) turn_weights();
  for (std::int64_t sample = 0; sample < call_.samples; ++sample) {
    list_winners(sample);
    // Read only: GatherWeights leaves the image as it is.
    walk<GatherWeights>(const_cast<float*>(pad_input(sample)), d_turned_);
    if (call_.d_input != nullptr) scatter(sample);
  }
  turn_back();
}

// turned[output][row of the window][run]
void Gradient::turn_weights() {
  for (std::int64_t row = 0; row < s_.window_height; ++row) {
    for (std::int64_t i = 0; i < run_; i += kWidth) {
      pack_turned(call_.weights + (row * run_ + i) * s_.outputs, s_.outputs, s_.outputs, smaller(kWidth, run_ - i),
                  turned_ + row * weight_row_ + i, channel_size());
    }
  }
}

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

void Gradient::list_winners(std::int64_t sample) {
  const std::int64_t step = std::int64_t{1} * s_.stride * s_.channels;
  std::int32_t within[256];  // offset of each position in a window of the pool
  for (int i = 0; i < s_.pool * s_.pool; ++i) {
    within[i] = static_cast<std::int32_t>(i / s_.pool * s_.stride * image_row_ + i % s_.pool * step);
  }
  for (int output = 0; output < s_.outputs; ++output) counts_[output] = 0;
  const std::int64_t list = list_size();
  std::int64_t at = sample * s_.rows * s_.columns * s_.outputs;
  for (std::int64_t row = 0; row < s_.rows; ++row) {
    for (std::int64_t column = 0; column < s_.columns; ++column, at += s_.outputs) {
      const auto begin = static_cast<std::int32_t>(s_.pool * (row * s_.stride * image_row_ + column * step));
      for (int output = 0; output < s_.outputs; ++output) {
        const float value = call_.d_output[at + output];
        // Written in any case, counted when live: no branch to mispredict.
        lists_[output * list + counts_[output]] = {begin + within[call_.winners[at + output]], value};
        counts_[output] += value != 0 ? 1 : 0;
      }
    }
  }
}

template <class Kernel>
void Gradient::walk(float* image, float* weights) {
  const std::int64_t vectors = weight_row_ / kWidth;
  const std::int64_t pieces = (vectors + kMostVectors - 1) / kMostVectors;
  const std::int64_t piece = (vectors + pieces - 1) / pieces;
  const std::int64_t most_rows = smaller(kMostRows, kMostVectors / piece);
  for (std::int64_t output = 0; output < s_.outputs; ++output) {
    const Live* live = lists_ + output * list_size();
    for (std::int64_t row = 0; row < s_.window_height; row += most_rows) {
      for (std::int64_t v = 0; v < vectors; v += piece) {
        float* of_channel = weights + output * channel_size() + row * weight_row_ + v * kWidth;
        const Walk walk{live,       counts_[output], image + row * image_row_ + v * kWidth,
                        image_row_, of_channel,      weight_row_};
        walk_vectors<Kernel>(walk, smaller(piece, vectors - v), smaller(most_rows, s_.window_height - row),
                             std::make_integer_sequence<int, kMostVectors>{});
      }
    }
  }
}

void Gradient::scatter(std::int64_t sample) {
  const std::int64_t row_size = std::int64_t{1} * s_.width * s_.channels;
  float* d_input = call_.d_input + sample * s_.height * row_size;
  float* image = copies_ ? d_padded_ : d_input;
  fill_zero(image, padded_height_ * image_row_);
  walk<ScatterImage>(image, turned_);
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
