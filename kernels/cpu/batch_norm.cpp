#include "kernels/cpu/batch_norm.h"

#include <algorithm>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kTile = 32;   // columns summed together in registers
constexpr std::int64_t kGroup = 64;  // rows summed in float before they are added to totals in double

constexpr std::int64_t kLanes = 16;
typedef float Vector __attribute__((vector_size(4 * kLanes)));
typedef float AnyVector __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
constexpr std::int64_t kVectors = kTile / kLanes;

// The result is an argument, because returning a vector would need an instruction set that has it.
EAVE_INLINE void load(const float* from, Vector& into) { into = *reinterpret_cast<const AnyVector*>(from); }

// Sums tiles of `rows` rows of `length` values. body(offset, rows, length, column, width, first, second) adds to two
// float sums per column, which are then added to the totals.
template <class Body>
EAVE_INLINE void sum_tiles(std::int64_t rows, std::int64_t length, Body body, ChannelSums totals) {
  for (std::int64_t row = 0; row < rows; row += kGroup) {
    for (std::int64_t column = 0; column < length; column += kTile) {
      const std::int64_t width = std::min(kTile, length - column);
      float first[kTile] = {}, second[kTile] = {};
      body(row * length + column, std::min(kGroup, rows - row), length, column, width, first, second);
      for (std::int64_t i = 0; i < width; ++i) totals.first[column + i] += first[i];
      for (std::int64_t i = 0; i < width; ++i) totals.second[column + i] += second[i];
    }
  }
}

// Values per channel; nullptr if a body does not need them.
struct Columns {
  const float* center;  // subtracted from each value
  const float* factor = nullptr;
  const float* offset = nullptr;
  EAVE_INLINE Columns from(std::int64_t column) const {
    return {center + column, factor ? factor + column : nullptr, offset ? offset + column : nullptr};
  }
};

// The columns of several rows side by side.
struct WideColumns {
  float center[kTile], factor[kTile], offset[kTile];
  EAVE_INLINE Columns fill(const Columns& columns, std::int64_t channels) {
    for (std::int64_t i = 0; i < kTile; ++i) {
      center[i] = columns.center[i % channels];
      factor[i] = columns.factor ? columns.factor[i % channels] : 0;
      offset[i] = columns.offset ? columns.offset[i % channels] : 0;
    }
    return {center, columns.factor ? factor : nullptr, columns.offset ? offset : nullptr};
  }
};

// Sums over all rows. If there are few channels, several rows side by side are treated as one row, so that tiles are
// full. make_body(columns, offset) makes the body for the values from `offset` on.
template <class MakeBody>
EAVE_INLINE void sum_rows(std::int64_t rows, std::int64_t channels, const Columns& columns, MakeBody make_body,
                          ChannelSums totals) {
  std::fill_n(totals.first, channels, 0.0);
  std::fill_n(totals.second, channels, 0.0);
  const std::int64_t side_by_side = kTile % channels == 0 ? kTile / channels : 1;
  if (side_by_side == 1) return sum_tiles(rows, channels, make_body(columns, std::int64_t{0}), totals);
  WideColumns wide;
  double first[kTile] = {}, second[kTile] = {};
  const std::int64_t folded = rows / side_by_side;
  sum_tiles(folded, kTile, make_body(wide.fill(columns, channels), std::int64_t{0}), {first, second});
  const std::int64_t done = folded * side_by_side;
  sum_tiles(rows - done, channels, make_body(columns, done * channels), totals);
  for (std::int64_t i = 0; i < kTile; ++i) totals.first[i % channels] += first[i];
  for (std::int64_t i = 0; i < kTile; ++i) totals.second[i % channels] += second[i];
}

EAVE_INLINE void moments_of_tile(const float* input, const float* center, std::int64_t rows, std::int64_t length,
                                 std::int64_t width, float* sum, float* square) {
  for (std::int64_t row = 0; row < rows; ++row, input += length) {
    for (std::int64_t i = 0; i < width; ++i) {
      const float value = input[i] - center[i];
      sum[i] += value;
      square[i] += value * value;
    }
  }
}

EAVE_MULTIVERSION void sum_moments(const float* all, std::int64_t rows, std::int64_t channels, ChannelSums totals) {
  const auto make_body = [&](const Columns& columns, std::int64_t offset) __attribute__((always_inline)) {
    return [=](std::int64_t at, std::int64_t count, std::int64_t length, std::int64_t column, std::int64_t width,
               float* sum, float* square) __attribute__((always_inline)) {
      const float* input = all + offset + at;
      if (width == kTile) {
        moments_of_tile(input, columns.center + column, count, length, kTile, sum, square);
      } else {
        moments_of_tile(input, columns.center + column, count, length, width, sum, square);
      }
    };
  };
  sum_rows(rows, channels, Columns{all}, make_body, totals);
}

enum class Relu { kNone, kOfOutput, kOfInput };  // how relu's mask is known

template <Relu kRelu, bool kMore>
EAVE_INLINE void gradient_of_tile(const NormGradientSums& call, float* d_output, std::int64_t offset,
                                  const Columns& columns, std::int64_t rows, std::int64_t length, std::int64_t width,
                                  float* sum, float* product) {
  for (std::int64_t row = 0; row < rows; ++row, offset += length) {
    for (std::int64_t i = 0; i < width; ++i) {
      const float input = call.input[offset + i];
      float d = d_output[offset + i];
      if (kMore) d += call.more[offset + i];
      if (kRelu == Relu::kOfOutput) d = call.output[offset + i] > 0 ? d : 0;
      if (kRelu == Relu::kOfInput) d = input * columns.factor[i] + columns.offset[i] > 0 ? d : 0;
      if (kRelu == Relu::kOfOutput || kMore) d_output[offset + i] = d;
      sum[i] += d;
      product[i] += d * (input - columns.center[i]);
    }
  }
}

// The same for a full tile, with sums in registers. The compiler would keep arrays of floats in memory.
template <Relu kRelu, bool kMore>
EAVE_INLINE void gradient_of_full_tile(const NormGradientSums& call, float* d_output, std::int64_t offset,
                                       const Columns& columns, std::int64_t rows, std::int64_t length, float* sum,
                                       float* product) {
  Vector sums[kVectors] = {}, products[kVectors] = {}, center[kVectors], factor[kVectors], shift[kVectors];
#pragma GCC unroll 2
  for (std::int64_t k = 0; k < kVectors; ++k) {
    load(columns.center + k * kLanes, center[k]);
    if (kRelu == Relu::kOfInput) load(columns.factor + k * kLanes, factor[k]);
    if (kRelu == Relu::kOfInput) load(columns.offset + k * kLanes, shift[k]);
  }
  for (std::int64_t row = 0; row < rows; ++row, offset += length) {
#pragma GCC unroll 2
    for (std::int64_t k = 0; k < kVectors; ++k) {
      const std::int64_t at = offset + k * kLanes;
      Vector d, input, other;
      load(d_output + at, d);
      load(call.input + at, input);
      if (kMore) {
        load(call.more + at, other);
        d += other;
      }
      if (kRelu == Relu::kOfOutput) {
        load(call.output + at, other);
        d = other > 0 ? d : Vector{};
      }
      if (kRelu == Relu::kOfInput) d = input * factor[k] + shift[k] > 0 ? d : Vector{};
      if (kRelu == Relu::kOfOutput || kMore) *reinterpret_cast<AnyVector*>(d_output + at) = d;
      sums[k] += d;
      products[k] += d * (input - center[k]);
    }
  }
  for (std::int64_t i = 0; i < kTile; ++i) {
    sum[i] = sums[i / kLanes][i % kLanes];
    product[i] = products[i / kLanes][i % kLanes];
  }
}

template <Relu kRelu, bool kMore>
EAVE_INLINE void sum_gradients_as(const NormGradientSums& call, std::int64_t rows, std::int64_t channels, float* d,
                                  ChannelSums totals) {
  const auto make_body = [&](const Columns& columns, std::int64_t offset) __attribute__((always_inline)) {
    return [=](std::int64_t at, std::int64_t count, std::int64_t length, std::int64_t column, std::int64_t width,
               float* sum, float* product) __attribute__((always_inline)) {
      const Columns tile = columns.from(column);
      if (width == kTile) {
        gradient_of_full_tile<kRelu, kMore>(call, d, offset + at, tile, count, length, sum, product);
      } else {
        gradient_of_tile<kRelu, kMore>(call, d, offset + at, tile, count, length, width, sum, product);
      }
    };
  };
  sum_rows(rows, channels, Columns{call.mean, call.factor, call.offset}, make_body, totals);
}

template <bool kMore>
EAVE_INLINE void sum_gradients_with(const NormGradientSums& call, std::int64_t rows, std::int64_t channels, float* d,
                                    ChannelSums totals) {
  if (call.factor != nullptr) {
    sum_gradients_as<Relu::kOfInput, kMore>(call, rows, channels, d, totals);
  } else if (call.output != nullptr) {
    sum_gradients_as<Relu::kOfOutput, kMore>(call, rows, channels, d, totals);
  } else {
    sum_gradients_as<Relu::kNone, kMore>(call, rows, channels, d, totals);
  }
}

EAVE_MULTIVERSION void sum_gradients(const NormGradientSums& call, std::int64_t rows, std::int64_t channels, float* d,
                                     ChannelSums totals) {
  if (call.more != nullptr) {
    sum_gradients_with<true>(call, rows, channels, d, totals);
  } else {
    sum_gradients_with<false>(call, rows, channels, d, totals);
  }
}

template <bool kRelu>
EAVE_INLINE void input_gradient_as(const NormInputGradient& call, std::int64_t rows, std::int64_t channels,
                                   float* d_input) {
  for (std::int64_t row = 0, at = 0; row < rows; ++row, at += channels) {
    for (std::int64_t i = 0; i < channels; ++i) {
      const float input = call.input[at + i];
      float d = call.d_output[at + i];
      if (kRelu) d = input * call.factor[i] + call.offset[i] > 0 ? d : 0;
      d_input[at + i] = call.a[i] * d + call.b[i] * input + call.c[i];
    }
  }
}

template <bool kSkip>
EAVE_INLINE void normalise_rows(const float* input, const float* skip, const float* factor, const float* offset,
                                float lowest, std::int64_t rows, std::int64_t channels, float* output) {
  for (std::int64_t row = 0; row < rows; ++row, input += channels, output += channels, skip += kSkip ? channels : 0) {
    for (std::int64_t i = 0; i < channels; ++i) {
      float value = input[i] * factor[i] + offset[i];
      if (kSkip) value += skip[i];
      output[i] = value < lowest ? lowest : value;
    }
  }
}

}  // namespace

void channel_moments(const float* input, std::int64_t rows, std::int64_t channels, ChannelSums sums, float* mean,
                     float* variance) {
  sum_moments(input, rows, channels, sums);
  for (std::int64_t c = 0; c < channels; ++c) {
    const double shift = sums.first[c] / static_cast<double>(rows);
    mean[c] = static_cast<float>(input[c] + shift);
    variance[c] = static_cast<float>(std::max(0.0, sums.second[c] / static_cast<double>(rows) - shift * shift));
  }
}

EAVE_MULTIVERSION void normalise(const float* input, const float* skip, const float* factor, const float* offset,
                                 bool relu, std::int64_t rows, std::int64_t channels, float* output) {
  const float lowest = relu ? 0.0f : -__builtin_inff();
  if (skip != nullptr) {
    normalise_rows<true>(input, skip, factor, offset, lowest, rows, channels, output);
  } else {
    normalise_rows<false>(input, nullptr, factor, offset, lowest, rows, channels, output);
  }
}

void norm_gradient_sums(const NormGradientSums& call, std::int64_t rows, std::int64_t channels, ChannelSums sums,
                        float* d_output, float* d_scale, float* d_shift) {
  sum_gradients(call, rows, channels, d_output, sums);
  for (std::int64_t c = 0; c < channels; ++c) {
    d_shift[c] = static_cast<float>(sums.first[c]);
    d_scale[c] = static_cast<float>(sums.second[c] * call.inverse_deviation[c]);
  }
}

EAVE_MULTIVERSION void norm_input_gradient(const NormInputGradient& call, std::int64_t rows, std::int64_t channels,
                                           float* d_input) {
  if (call.factor != nullptr) {
    input_gradient_as<true>(call, rows, channels, d_input);
  } else {
    input_gradient_as<false>(call, rows, channels, d_input);
  }
}

}  // namespace eave::cpu
