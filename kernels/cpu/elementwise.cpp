#include "kernels/cpu/elementwise.h"

#include <algorithm>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kTile = 64;   // columns summed together: four AVX-512 registers
constexpr std::int64_t kGroup = 32;  // rows summed in float before they are added to the total

// Adds the column sums of `rows` × `width` values at `d` (rows `stride` apart) to `total`. Before that, it sets d to 0
// where `output` is not positive.
template <bool kMask>
EAVE_INLINE void mask_and_sum(const float* output, float* d, std::int64_t rows, std::int64_t stride, std::int64_t width,
                              float* total) {
  float sum[kTile] = {};
  for (std::int64_t row = 0; row < rows; ++row, d += stride, output += kMask ? stride : 0) {
    for (std::int64_t i = 0; i < width; ++i) {
      const float value = !kMask || output[i] > 0 ? d[i] : 0;
      if (kMask) d[i] = value;
      sum[i] += value;
    }
  }
  for (std::int64_t i = 0; i < width; ++i) total[i] += sum[i];
}

template <bool kMask>
EAVE_INLINE void sum_tile(const float* output, float* d, std::int64_t rows, std::int64_t stride, std::int64_t width,
                          float* total) {
  for (std::int64_t row = 0; row < rows; row += kGroup) {
    const std::int64_t count = std::min(kGroup, rows - row);
    const float* masking = kMask ? output + row * stride : nullptr;
    if (width == kTile) {
      mask_and_sum<kMask>(masking, d + row * stride, count, stride, kTile, total);
    } else {
      mask_and_sum<kMask>(masking, d + row * stride, count, stride, width, total);
    }
  }
}

}  // namespace

EAVE_MULTIVERSION void add(const float* a, const float* b, float* sum, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
}

EAVE_MULTIVERSION void add_to_both(float* __restrict a, float* __restrict b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] = a[i] + b[i];
}

void fill(float* values, float value, std::int64_t count) { std::fill(values, values + count, value); }

EAVE_MULTIVERSION void add_bias(float* values, const float* bias, bool relu, std::int64_t rows, std::int64_t columns) {
  const float lowest = relu ? 0.0f : -__builtin_inff();
  for (std::int64_t row = 0; row < rows; ++row, values += columns) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const float value = bias != nullptr ? values[i] + bias[i] : values[i];
      values[i] = value < lowest ? lowest : value;
    }
  }
}

EAVE_MULTIVERSION void add_bias_gradient(const float* output, float* d_output, float* d_bias, std::int64_t rows,
                                         std::int64_t columns) {
  for (std::int64_t column = 0; column < columns; column += kTile) {
    const std::int64_t width = std::min(kTile, columns - column);
    float total[kTile] = {};
    if (output != nullptr) {
      sum_tile<true>(output + column, d_output + column, rows, columns, width, total);
    } else {
      sum_tile<false>(nullptr, d_output + column, rows, columns, width, total);
    }
    if (d_bias != nullptr) std::copy(total, total + width, d_bias + column);
  }
}

}  // namespace eave::cpu
