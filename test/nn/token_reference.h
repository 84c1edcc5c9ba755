// The layers of windows of tokens in double, by plain loops from their definitions, for test/nn/reference.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace eave {

// samples × positions × channels
struct TokenRows {
  std::int64_t samples = 0, positions = 0, channels = 0;
  std::vector<double> values;
  TokenRows(std::int64_t n, std::int64_t t, std::int64_t c)
      : samples(n), positions(t), channels(c), values(static_cast<std::size_t>(n * t * c)) {}
  std::int64_t rows() const { return samples * positions; }
  double& at(std::int64_t row, std::int64_t channel) {
    return values[static_cast<std::size_t>(row * channels + channel)];
  }
  double at(std::int64_t row, std::int64_t channel) const {
    return values[static_cast<std::size_t>(row * channels + channel)];
  }
};

inline TokenRows embed_reference(const TokenRows& tokens, std::int64_t width, const double* table,
                                 const double* places) {
  TokenRows y(tokens.samples, tokens.positions, width);
  for (std::int64_t row = 0; row < y.rows(); ++row) {
    const auto token = static_cast<std::int64_t>(tokens.at(row, 0));
    for (std::int64_t c = 0; c < width; ++c) {
      y.at(row, c) = table[token * width + c] + (places != nullptr ? places[row % tokens.positions * width + c] : 0.0);
    }
  }
  return y;
}

// weights[k · k_stride + o · o_stride]; bias: nullptr if there is none.
inline TokenRows linear_reference(const TokenRows& x, std::int64_t outputs, const double* weights,
                                  std::int64_t k_stride, std::int64_t o_stride, const double* bias) {
  TokenRows y(x.samples, x.positions, outputs);
  for (std::int64_t row = 0; row < y.rows(); ++row) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      double sum = bias != nullptr ? bias[o] : 0;
      for (std::int64_t k = 0; k < x.channels; ++k) sum += x.at(row, k) * weights[k * k_stride + o * o_stride];
      y.at(row, o) = sum;
    }
  }
  return y;
}

inline TokenRows row_norm_reference(TokenRows x, bool centred, double epsilon, const double* scale,
                                    const double* shift) {
  const double channels = static_cast<double>(x.channels);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    double mean = 0, square = 0;
    for (std::int64_t c = 0; centred && c < x.channels; ++c) mean += x.at(row, c) / channels;
    for (std::int64_t c = 0; c < x.channels; ++c) square += std::pow(x.at(row, c) - mean, 2) / channels;
    for (std::int64_t c = 0; c < x.channels; ++c) {
      x.at(row, c) =
          (x.at(row, c) - mean) / std::sqrt(square + epsilon) * scale[c] + (shift != nullptr ? shift[c] : 0.0);
    }
  }
  return x;
}

// The matrix of positions × positions, row by row.
// factor(sample, head, position, other): what dropout multiplies the share of `other` by.
template <class Factor>
TokenRows attention_reference(const TokenRows& x, std::int64_t heads, std::int64_t groups, const Factor& factor) {
  const std::int64_t width = x.channels / (heads + 2 * groups), per_group = heads / groups;
  TokenRows y(x.samples, x.positions, heads * width);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    const std::int64_t first = row / x.positions * x.positions;
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t keys = (heads + h / per_group) * width, values = keys + groups * width;
      std::vector<double> shares;
      double sum = 0;
      for (std::int64_t other = first; other <= row; ++other) {
        double score = 0;
        for (std::int64_t c = 0; c < width; ++c) score += x.at(row, h * width + c) * x.at(other, keys + c);
        shares.push_back(std::exp(score / std::sqrt(static_cast<double>(width))));
        sum += shares.back();
      }
      for (std::int64_t other = first; other <= row; ++other) {
        const double share = shares[static_cast<std::size_t>(other - first)] / sum *
                             factor(row / x.positions, h, row - first, other - first);
        for (std::int64_t c = 0; c < width; ++c) y.at(row, h * width + c) += share * x.at(other, values + c);
      }
    }
  }
  return y;
}

inline TokenRows rotary_reference(TokenRows x, std::int64_t heads, std::int64_t groups, double base) {
  const std::int64_t width = x.channels / (heads + 2 * groups), half = width / 2;
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    for (std::int64_t h = 0; h < heads + groups; ++h) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(row % x.positions) *
                             std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
        double &first = x.at(row, h * width + i), &second = x.at(row, h * width + half + i);
        const double turned = first * std::cos(angle) - second * std::sin(angle);
        second = second * std::cos(angle) + first * std::sin(angle);
        first = turned;
      }
    }
  }
  return x;
}

inline TokenRows gated_reference(const TokenRows& x, double (*word)(double, double)) {
  TokenRows y(x.samples, x.positions, x.channels / 2);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    for (std::int64_t c = 0; c < y.channels; ++c) y.at(row, c) = word(x.at(row, c), 0) * x.at(row, y.channels + c);
  }
  return y;
}

}  // namespace eave
