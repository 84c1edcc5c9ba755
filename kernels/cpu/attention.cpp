#include <algorithm>
#include <cmath>

#include "kernels/cpu/lane_sums.h"
#include "kernels/cpu/tokens.h"
#include "kernels/elementwise/math.h"

namespace eave::cpu {

EAVE_MULTIVERSION void softmax_scores(const ScoreRows& shape, float* scores, float* log_sums) {
  for (std::int64_t row = 0; row < shape.rows; ++row, scores += shape.stride) {
    const std::int64_t count = shape.first + row + 1;
    const float largest = largest_value(scores, count);
    for (std::int64_t i = 0; i < count; ++i) scores[i] = elementwise::exp((scores[i] - largest) * shape.factor);
    for (std::int64_t i = count; i < shape.stride; ++i) scores[i] = 0;
    const float sum = sum_values(scores, count), share = 1.0f / sum;
    for (std::int64_t i = 0; i < count; ++i) scores[i] *= share;
    if (log_sums != nullptr) log_sums[row] = largest * shape.factor + std::log(sum);
  }
}

EAVE_MULTIVERSION void softmax_scores_gradient(const ScoreRows& shape, float* scores, const float* log_sums,
                                               const float* dots, const float* dropout, float* d_shares) {
  for (std::int64_t row = 0; row < shape.rows; ++row, scores += shape.stride, d_shares += shape.stride) {
    const std::int64_t count = shape.first + row + 1;
    const float log_sum = log_sums[row], dot_of_row = dots[row];
    for (std::int64_t i = count; i < shape.stride; ++i) scores[i] = d_shares[i] = 0;
    if (dropout != nullptr) {
      const float* const factors = dropout + row * shape.stride;
      for (std::int64_t i = 0; i < count; ++i) {
        const float share = elementwise::exp(scores[i] * shape.factor - log_sum);
        scores[i] = share * factors[i];
        d_shares[i] = share * (d_shares[i] * factors[i] - dot_of_row) * shape.factor;
      }
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const float share = elementwise::exp(scores[i] * shape.factor - log_sum);
      scores[i] = share;
      d_shares[i] = share * (d_shares[i] - dot_of_row) * shape.factor;
    }
  }
}

EAVE_MULTIVERSION float dot(const float* a, const float* b, std::int64_t width) { return dot_values(a, b, width); }

EAVE_MULTIVERSION void rotate(const Rotary& rotary, const float* cosines, const float* sines, const float* input,
                              float* output) {
  const std::int64_t half = rotary.width / 2, copied = rotary.copied * rotary.width;
  for (std::int64_t row = 0; row < rotary.samples * rotary.positions; ++row) {
    const float* const c = cosines + row % rotary.positions * half;
    const float* const s = sines + row % rotary.positions * half;
    for (std::int64_t head = 0; head < rotary.turned; ++head, input += rotary.width, output += rotary.width) {
      for (std::int64_t i = 0; i < half; ++i) {
        const float first = input[i], second = input[half + i];
        output[i] = first * c[i] - second * s[i];
        output[half + i] = second * c[i] + first * s[i];
      }
    }
    output = std::copy_n(input, copied, output);
    input += copied;
  }
}

EAVE_MULTIVERSION void multiply(const float* a, const float* b, float* product, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) product[i] = a[i] * b[i];
}

}  // namespace eave::cpu
