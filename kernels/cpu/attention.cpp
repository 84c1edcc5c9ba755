#include <algorithm>
#include <cmath>

#include "kernels/cpu/lane_sums.h"
#include "kernels/cpu/tokens.h"
#include "kernels/elementwise/math.h"

namespace eave::cpu {

namespace {

constexpr std::int64_t kQueries = ScorePanel::kQueries;
constexpr std::int64_t kVectors = kQueries / kSumLanes;  // of the scores of a key

// The largest score of each query. Every query sees the first key.
EAVE_INLINE void find_largest(const ScorePanel& panel, const float* scores, float* largest) {
  LaneVector lanes[kVectors];
  for (std::int64_t v = 0; v < kVectors; ++v) load_lanes(scores + v * kSumLanes, lanes[v]);
  for (std::int64_t key = 0; key <= panel.first; ++key) {
    for (std::int64_t v = 0; v < kVectors; ++v) {
      LaneVector score;
      load_lanes(scores + key * kQueries + v * kSumLanes, score);
      lanes[v] = score > lanes[v] ? score : lanes[v];
    }
  }
  for (std::int64_t v = 0; v < kVectors; ++v) *reinterpret_cast<AnyLanes*>(largest + v * kSumLanes) = lanes[v];
  for (int in_panel = 1; in_panel < panel.queries; ++in_panel) {
    const float* const row = scores + (panel.first + in_panel) * kQueries;
    for (int q = 0; q < kQueries; ++q) {
      const float score = q >= in_panel ? row[q] : largest[q];
      largest[q] = score > largest[q] ? score : largest[q];
    }
  }
}

EAVE_INLINE void add_shares(const float* shares, std::int64_t keys, float* sums) {
  LaneVector lanes[kVectors] = {};
  for (std::int64_t key = 0; key < keys; ++key) {
    for (std::int64_t v = 0; v < kVectors; ++v) {
      LaneVector share;
      load_lanes(shares + key * kQueries + v * kSumLanes, share);
      lanes[v] += share;
    }
  }
  for (std::int64_t v = 0; v < kVectors; ++v) *reinterpret_cast<AnyLanes*>(sums + v * kSumLanes) = lanes[v];
}

}  // namespace

EAVE_MULTIVERSION void softmax_scores(const ScorePanel& panel, float* scores, float* log_sums) {
  const std::int64_t keys = panel.first + panel.queries;
  float largest[kQueries], sums[kQueries];
  find_largest(panel, scores, largest);
  for (std::int64_t key = 0; key < keys; ++key) {
    float* const row = scores + key * kQueries;
    const auto in_panel = static_cast<int>(key - panel.first);
    for (int q = 0; q < kQueries; ++q) {
      const float power = elementwise::exp((row[q] - largest[q]) * panel.factor);
      row[q] = q >= in_panel ? power : 0.0f;
    }
  }
  add_shares(scores, keys, sums);
  if (log_sums != nullptr) {
    for (std::int64_t q = 0; q < panel.queries; ++q) log_sums[q] = largest[q] * panel.factor + std::log(sums[q]);
  }
  for (float& sum : sums) sum = 1.0f / sum;
  for (std::int64_t key = 0; key < keys; ++key) {
    float* const row = scores + key * kQueries;
    for (std::int64_t q = 0; q < kQueries; ++q) row[q] *= sums[q];
  }
}

EAVE_MULTIVERSION void softmax_scores_gradient(const ScorePanel& panel, float* scores, const float* log_sums,
                                               const float* dots, const float* dropout, float* d_shares) {
  float log_sum[kQueries] = {}, dot[kQueries] = {};
  for (std::int64_t q = 0; q < panel.queries; ++q) log_sum[q] = log_sums[q], dot[q] = dots[q];
  for (std::int64_t key = 0; key < panel.first + panel.queries; ++key) {
    float* const row = scores + key * kQueries;
    float* const d_row = d_shares + key * kQueries;
    const auto in_panel = static_cast<int>(key - panel.first);
    if (dropout != nullptr) {
      const float* const factors = dropout + key * kQueries;
      for (int q = 0; q < kQueries; ++q) {
        const float share = elementwise::exp(row[q] * panel.factor - log_sum[q]);
        const float gradient = share * (d_row[q] * factors[q] - dot[q]) * panel.factor;
        row[q] = q >= in_panel ? share * factors[q] : 0.0f;
        d_row[q] = q >= in_panel ? gradient : 0.0f;
      }
    } else {
      for (int q = 0; q < kQueries; ++q) {
        const float share = elementwise::exp(row[q] * panel.factor - log_sum[q]);
        const float gradient = share * (d_row[q] - dot[q]) * panel.factor;
        row[q] = q >= in_panel ? share : 0.0f;
        d_row[q] = q >= in_panel ? gradient : 0.0f;
      }
    }
  }
}

EAVE_MULTIVERSION void dots_of_rows(const float* a, const float* b, std::int64_t stride, std::int64_t rows,
                                    std::int64_t width, float* dots) {
  for (std::int64_t row = 0; row < rows; ++row) dots[row] = dot_values(a + row * stride, b + row * stride, width);
}

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
