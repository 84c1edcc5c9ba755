#include <algorithm>
#include <cmath>

#include "kernels/cpu/lane_sums.h"
#include "kernels/cpu/tokens.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kRowsOfGroup = 64;  // rows summed in float before they are added to totals in double

EAVE_INLINE float squares_around(const float* x, float mean, std::int64_t count) {
  return sum_lanes(
      count,
      [=](std::int64_t i, LaneVector & v) __attribute__((always_inline)) {
        load_lanes(x + i, v);
        v -= mean;
        v *= v;
      },
      [=](std::int64_t i) __attribute__((always_inline)) { return (x[i] - mean) * (x[i] - mean); });
}

// The sums over a row of g and of g · (x − mean), with g = scale · d_output.
struct RowSums {
  float g, g_x;
};

EAVE_INLINE RowSums sums_of_row(const float* x, const float* scale, const float* d_output, float mean,
                                std::int64_t count) {
  LaneVector g = {}, g_x = {};
  const std::int64_t whole = count / kSumLanes * kSumLanes;
  for (std::int64_t i = 0; i < whole; i += kSumLanes) {
    LaneVector d, s, v;
    load_lanes(d_output + i, d);
    load_lanes(scale + i, s);
    load_lanes(x + i, v);
    d *= s;
    g += d;
    g_x += d * (v - mean);
  }
  RowSums sums{add_lanes(g), add_lanes(g_x)};
  for (std::int64_t i = whole; i < count; ++i) {
    const float d = d_output[i] * scale[i];
    sums.g += d;
    sums.g_x += d * (x[i] - mean);
  }
  return sums;
}

// Adds the sums of a group to the totals and clears them.
EAVE_INLINE void flush(float* sums, double* totals, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) totals[i] += double{sums[i]};
  for (std::int64_t i = 0; i < count; ++i) sums[i] = 0;
}

}  // namespace

EAVE_MULTIVERSION void row_norm(const RowNorm& norm, const float* input, const float* scale, const float* shift,
                                float* output, float* moments) {
  const std::int64_t channels = norm.channels;
  const float share = 1.0f / static_cast<float>(channels);
  for (std::int64_t row = 0; row < norm.rows; ++row, input += channels, output += channels) {
    const float mean = norm.centred ? sum_values(input, channels) * share : 0;
    const float factor = 1.0f / std::sqrt(squares_around(input, mean, channels) * share + norm.epsilon);
    moments[2 * row] = mean;
    moments[2 * row + 1] = factor;
    if (shift == nullptr) {
      for (std::int64_t i = 0; i < channels; ++i) output[i] = (input[i] - mean) * factor * scale[i];
    } else {
      for (std::int64_t i = 0; i < channels; ++i) output[i] = (input[i] - mean) * factor * scale[i] + shift[i];
    }
  }
}

EAVE_MULTIVERSION void row_norm_gradient(const RowNorm& norm, const float* input, const float* scale,
                                         const float* moments, const float* d_output, float* d_input, float* d_scale,
                                         float* d_shift, float* scratch) {
  const std::int64_t channels = norm.channels;
  const float share = 1.0f / static_cast<float>(channels);
  double* totals = reinterpret_cast<double*>(scratch);  // of the scale, then of the shift
  float* of_scale = scratch + 4 * channels;
  float* of_shift = of_scale + channels;
  std::fill_n(totals, 2 * channels, 0.0);
  std::fill_n(of_scale, 2 * channels, 0.0f);
  for (std::int64_t row = 0; row < norm.rows; ++row, input += channels, d_output += channels) {
    const float mean = moments[2 * row], factor = moments[2 * row + 1];
    for (std::int64_t i = 0; i < channels; ++i) of_scale[i] += d_output[i] * ((input[i] - mean) * factor);
    for (std::int64_t i = 0; i < channels; ++i) of_shift[i] += d_output[i];
    if ((row + 1) % kRowsOfGroup == 0 || row + 1 == norm.rows) flush(of_scale, totals, 2 * channels);
    if (d_input == nullptr) continue;
    const RowSums sums = sums_of_row(input, scale, d_output, mean, channels);
    const float of_mean = norm.centred ? sums.g * share : 0;
    const float of_deviation = sums.g_x * share * factor * factor;
    for (std::int64_t i = 0; i < channels; ++i) {
      d_input[i] = factor * (d_output[i] * scale[i] - of_mean - (input[i] - mean) * of_deviation);
    }
    d_input += channels;
  }
  for (std::int64_t i = 0; i < channels; ++i) d_scale[i] = static_cast<float>(totals[i]);
  if (d_shift == nullptr) return;
  for (std::int64_t i = 0; i < channels; ++i) d_shift[i] = static_cast<float>(totals[channels + i]);
}

}  // namespace eave::cpu
