#include "kernels/cpu/batch_norm.h"

#include <algorithm>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kTile = 32;   // columns summed together in registers
constexpr std::int64_t kGroup = 64;  // rows summed in float before they join totals in double

// Tiles of `rows` rows of `length` values: body(offset, rows, length, column, width, first, second) adds to two sums
// per column in float, which then join the totals.
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

// Sums of all rows. Where channels are few, several rows side by side are treated as one, so that tiles are full.
// make_body(center) is given what it subtracts from each column.
template <class MakeBody>
EAVE_INLINE void sum_rows(std::int64_t rows, std::int64_t channels, const float* center, MakeBody make_body,
                          ChannelSums totals) {
  std::fill_n(totals.first, channels, 0.0);
  std::fill_n(totals.second, channels, 0.0);
  const std::int64_t side_by_side = kTile % channels == 0 ? kTile / channels : 1;
  if (side_by_side == 1) return sum_tiles(rows, channels, make_body(center, std::int64_t{0}), totals);
  float wide_center[kTile];
  double first[kTile] = {}, second[kTile] = {};
  for (std::int64_t i = 0; i < kTile; ++i) wide_center[i] = center[i % channels];
  const std::int64_t folded = rows / side_by_side;
  sum_tiles(folded, kTile, make_body(wide_center, std::int64_t{0}), {first, second});
  const std::int64_t done = folded * side_by_side;
  sum_tiles(rows - done, channels, make_body(center, done * channels), totals);
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
  const auto make_body = [&](const float* center, std::int64_t offset) __attribute__((always_inline)) {
    return [=](std::int64_t at, std::int64_t count, std::int64_t length, std::int64_t column, std::int64_t width,
               float* sum, float* square) __attribute__((always_inline)) {
      const float* input = all + offset + at;
      if (width == kTile) {
        moments_of_tile(input, center + column, count, length, kTile, sum, square);
      } else {
        moments_of_tile(input, center + column, count, length, width, sum, square);
      }
    };
  };
  sum_rows(rows, channels, all, make_body, totals);
}

template <bool kRelu, bool kMore>
EAVE_INLINE void gradient_of_tile(const NormGradientSums& call, float* d_output, std::int64_t offset,
                                  const float* center, std::int64_t rows, std::int64_t length, std::int64_t width,
                                  float* sum, float* product) {
  for (std::int64_t row = 0; row < rows; ++row, offset += length) {
    for (std::int64_t i = 0; i < width; ++i) {
      float d = d_output[offset + i];
      if (kMore) d += call.more[offset + i];
      if (kRelu) d = call.output[offset + i] > 0 ? d : 0;
      if (kRelu || kMore) d_output[offset + i] = d;
      sum[i] += d;
      product[i] += d * (call.input[offset + i] - center[i]);
    }
  }
}

template <bool kRelu, bool kMore>
EAVE_INLINE void sum_gradients_as(const NormGradientSums& call, std::int64_t rows, std::int64_t channels, float* d,
                                  ChannelSums totals) {
  const auto make_body = [&](const float* center, std::int64_t offset) __attribute__((always_inline)) {
    return [=](std::int64_t at, std::int64_t count, std::int64_t length, std::int64_t column, std::int64_t width,
               float* sum, float* product) __attribute__((always_inline)) {
      if (width == kTile) {
        gradient_of_tile<kRelu, kMore>(call, d, offset + at, center + column, count, length, kTile, sum, product);
      } else {
        gradient_of_tile<kRelu, kMore>(call, d, offset + at, center + column, count, length, width, sum, product);
      }
    };
  };
  sum_rows(rows, channels, call.mean, make_body, totals);
}

EAVE_MULTIVERSION void sum_gradients(const NormGradientSums& call, std::int64_t rows, std::int64_t channels, float* d,
                                     ChannelSums totals) {
  if (call.output != nullptr && call.more != nullptr) {
    sum_gradients_as<true, true>(call, rows, channels, d, totals);
  } else if (call.output != nullptr) {
    sum_gradients_as<true, false>(call, rows, channels, d, totals);
  } else if (call.more != nullptr) {
    sum_gradients_as<false, true>(call, rows, channels, d, totals);
  } else {
    sum_gradients_as<false, false>(call, rows, channels, d, totals);
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

EAVE_MULTIVERSION void norm_input_gradient(const float* d_output, const float* input, const float* a, const float* b,
                                           const float* c, std::int64_t rows, std::int64_t channels, float* d_input) {
  for (std::int64_t row = 0; row < rows; ++row, d_output += channels, input += channels, d_input += channels) {
    for (std::int64_t i = 0; i < channels; ++i) d_input[i] = a[i] * d_output[i] + b[i] * input[i] + c[i];
  }
}

}  // namespace eave::cpu
