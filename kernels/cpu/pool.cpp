#include <algorithm>
#include <cstring>

#include "kernels/cpu/layers.h"
#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

// The part of a window that lies inside the image.
struct Span {
  int first, last;
};

EAVE_INLINE Span inside(int position, int stride, int pad, int window, int size) {
  const int begin = position * stride - pad;
  return {std::max(0, -begin), std::min(window, size - begin)};
}

EAVE_INLINE void take_larger(const float* input, std::uint8_t position, int channels, float* output,
                             std::uint8_t* winners) {
  for (int c = 0; c < channels; ++c) {
    // NaN wins at any place of the window, so that a diverged run is seen.
    const bool larger = input[c] > output[c] || input[c] != input[c];
    output[c] = larger ? input[c] : output[c];
    if (winners != nullptr) winners[c] = larger ? position : winners[c];
  }
}

EAVE_INLINE void max_of_window(const PoolGeometry& p, const float* image, int row, int column, float* output,
                               std::uint8_t* winners) {
  const Span rows = inside(row, p.stride, p.pad, p.window_height, p.height);
  const Span columns = inside(column, p.stride, p.pad, p.window_width, p.width);
  bool first = true;
  for (int i = rows.first; i < rows.last; ++i) {
    for (int j = columns.first; j < columns.last; ++j) {
      const std::int64_t pixel = std::int64_t{row * p.stride - p.pad + i} * p.width + column * p.stride - p.pad + j;
      const float* input = image + pixel * p.channels;
      const auto position = static_cast<std::uint8_t>(i * p.window_width + j);
      if (first) {
        std::memcpy(output, input, sizeof(float) * static_cast<std::size_t>(p.channels));
        if (winners != nullptr) std::memset(winners, position, static_cast<std::size_t>(p.channels));
        first = false;
      } else {
        take_larger(input, position, p.channels, output, winners);
      }
    }
  }
}

template <class Visit>
EAVE_INLINE void for_each_output(const PoolGeometry& p, Visit visit) {
  const std::int64_t image_size = std::int64_t{p.height} * p.width * p.channels;
  std::int64_t place = 0;
  for (std::int64_t sample = 0; sample < p.samples; ++sample) {
    for (int row = 0; row < p.rows; ++row) {
      for (int column = 0; column < p.columns; ++column, place += p.channels) {
        visit(sample * image_size, row, column, place);
      }
    }
  }
}

std::int64_t input_size(const PoolGeometry& p) { return p.samples * p.height * p.width * p.channels; }

}  // namespace

EAVE_MULTIVERSION void max_pool(const PoolGeometry& p, const float* input, float* output, std::uint8_t* winners) {
  for_each_output(
      p, [&](std::int64_t image, int row, int column, std::int64_t place) __attribute__((always_inline)) {
        max_of_window(p, input + image, row, column, output + place, winners == nullptr ? nullptr : winners + place);
      });
}

void max_pool_gradient(const PoolGeometry& p, const std::uint8_t* winners, const float* d_output, float* d_input) {
  std::fill(d_input, d_input + input_size(p), 0.0f);
  for_each_output(p, [&](std::int64_t image, int row, int column, std::int64_t place) {
    for (int c = 0; c < p.channels; ++c) {
      const int i = row * p.stride - p.pad + winners[place + c] / p.window_width;
      const int j = column * p.stride - p.pad + winners[place + c] % p.window_width;
      d_input[image + (std::int64_t{i} * p.width + j) * p.channels + c] += d_output[place + c];
    }
  });
}

EAVE_MULTIVERSION void average_pool(const PoolGeometry& p, const float* input, float* output) {
  const float share = 1.0f / static_cast<float>(p.window_height * p.window_width);
  for_each_output(
      p, [&](std::int64_t image, int row, int column, std::int64_t place) __attribute__((always_inline)) {
        const Span rows = inside(row, p.stride, p.pad, p.window_height, p.height);
        const Span columns = inside(column, p.stride, p.pad, p.window_width, p.width);
        float* sum = output + place;
        for (int c = 0; c < p.channels; ++c) sum[c] = 0;
        for (int i = rows.first; i < rows.last; ++i) {
          for (int j = columns.first; j < columns.last; ++j) {
            const std::int64_t pixel =
                std::int64_t{row * p.stride - p.pad + i} * p.width + column * p.stride - p.pad + j;
            const float* from = input + image + pixel * p.channels;
            for (int c = 0; c < p.channels; ++c) sum[c] += from[c];
          }
        }
        for (int c = 0; c < p.channels; ++c) sum[c] *= share;
      });
}

EAVE_MULTIVERSION void average_pool_gradient(const PoolGeometry& p, const float* d_output, float* d_input) {
  const float share = 1.0f / static_cast<float>(p.window_height * p.window_width);
  std::fill(d_input, d_input + input_size(p), 0.0f);
  for_each_output(
      p, [&](std::int64_t image, int row, int column, std::int64_t place) __attribute__((always_inline)) {
        const Span rows = inside(row, p.stride, p.pad, p.window_height, p.height);
        const Span columns = inside(column, p.stride, p.pad, p.window_width, p.width);
        for (int i = rows.first; i < rows.last; ++i) {
          for (int j = columns.first; j < columns.last; ++j) {
            const std::int64_t pixel =
                std::int64_t{row * p.stride - p.pad + i} * p.width + column * p.stride - p.pad + j;
            float* into = d_input + image + pixel * p.channels;
            for (int c = 0; c < p.channels; ++c) into[c] += share * d_output[place + c];
          }
        }
      });
}

}  // namespace eave::cpu
