// Gradients through convolution, relu and max-pool, by the kernels of every instruction set that this CPU runs.
// Operands are small integers, so results are exact in any order of summation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/layers.h"
#include "kernels/cpu/wide/wide_kernels.h"

namespace eave::cpu {
namespace {

constexpr float kNotWritten = 1e9f, kNan = std::numeric_limits<float>::quiet_NaN();

// The pool outputs that pass a gradient back. kOnePosition: all do, each to the same position of its window.
enum class Passing { kMost, kAll, kNone, kOnePosition };

// One gradient with its operands, run by the kernels and checked against plain loops.
struct PooledCase {
  PooledCase(const PooledConvolution& shape, Passing passing, bool wants_input = true);

  void run(const WideKernels& kernels);
  void expect(const WideKernels& kernels) const;
  std::int64_t row_size() const { return std::int64_t{1} * s.width * s.channels; }

  PooledConvolution s;
  PooledGradient call;
  std::vector<float> input, weights, d_output, d_weights, d_input;
  std::vector<std::uint8_t> winners;
};

PooledCase::PooledCase(const PooledConvolution& shape, Passing passing, bool wants_input) : s(shape) {
  std::mt19937 random(7);
  const auto small = [&] { return static_cast<float>(static_cast<int>(random() % 7) - 3); };
  call.samples = 3;
  s.rows = ((s.height + 2 * s.pad - s.window_height) / s.stride + 1) / s.pool;
  s.columns = ((s.width + 2 * s.pad - s.window_width) / s.stride + 1) / s.pool;
  input.resize(static_cast<std::size_t>(call.samples * s.height * row_size()));
  weights.resize(static_cast<std::size_t>(s.window_height) * static_cast<std::size_t>(s.window_width * s.channels) *
                 static_cast<std::size_t>(s.outputs));
  std::ranges::generate(input, small);
  std::ranges::generate(weights, small);
  const std::int64_t outputs = call.samples * s.rows * s.columns * s.outputs;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const bool is_dead = passing == Passing::kNone || (passing == Passing::kMost && random() % 4 == 0);
    const auto position = static_cast<std::uint8_t>(random() % static_cast<unsigned>(s.pool * s.pool));
    winners.push_back(is_dead ? kDead : passing == Passing::kOnePosition ? std::uint8_t{1} : position);
    d_output.push_back(is_dead ? (random() % 2 == 0 ? 0.0f : -0.0f) : small());
  }
  d_weights.assign(weights.size(), kNotWritten);
  d_input.assign(input.size(), kNotWritten);
  call.input = input.data();
  call.weights = weights.data();
  call.winners = winners.data();
  call.d_output = d_output.data();
  call.d_weights = d_weights.data();
  call.d_input = wants_input ? d_input.data() : nullptr;
}

void PooledCase::run(const WideKernels& kernels) {
  const auto size = static_cast<std::size_t>(kernels.pooled_gradient_scratch(s));
  std::vector<float> scratch(size + 1, kNan);
  scratch.back() = kNotWritten;
  kernels.pooled_gradient(s, call, scratch.data());
  EXPECT_EQ(scratch.back(), kNotWritten) << kernels.name << " writes beyond its scratch";
}

void PooledCase::expect(const WideKernels& kernels) const {
  std::vector<float> of_weights(weights.size()), of_input(input.size());
  for (std::int64_t i = 0; i < std::ssize(d_output); ++i) {
    const float value = d_output[static_cast<std::size_t>(i)];
    if (value == 0) continue;
    const std::int64_t output = i % s.outputs, window = i / s.outputs;
    const std::int64_t sample = window / (s.rows * s.columns), position = winners[static_cast<std::size_t>(i)];
    const std::int64_t top = (window / s.columns % s.rows * s.pool + position / s.pool) * s.stride - s.pad;
    const std::int64_t left = (window % s.columns * s.pool + position % s.pool) * s.stride - s.pad;
    for (std::int64_t row = 0; row < s.window_height; ++row) {
      for (std::int64_t column = 0; column < s.window_width; ++column) {
        if (top + row < 0 || top + row >= s.height || left + column < 0 || left + column >= s.width) continue;
        for (std::int64_t channel = 0; channel < s.channels; ++channel) {
          const auto at = static_cast<std::size_t>((sample * s.height + top + row) * row_size() +
                                                   (left + column) * s.channels + channel);
          const auto weight =
              static_cast<std::size_t>(((row * s.window_width + column) * s.channels + channel) * s.outputs + output);
          of_weights[weight] += value * input[at];
          of_input[at] += value * weights[weight];
        }
      }
    }
  }
  EXPECT_TRUE(d_weights == of_weights) << kernels.name << ": weights";
  if (call.d_input == nullptr) std::ranges::fill(of_input, kNotWritten);
  EXPECT_TRUE(d_input == of_input) << kernels.name << ": input";
}

std::string describe(const PooledConvolution& s) {
  return std::to_string(s.outputs) + " of " + std::to_string(s.channels) + " channels, window " +
         std::to_string(s.window_height) + "x" + std::to_string(s.window_width) + " stride " +
         std::to_string(s.stride) + " pad " + std::to_string(s.pad) + ", pool " + std::to_string(s.pool);
}

// Shapes: height, width, channels, window height and width, stride, pad, outputs, pool. They cover window rows that
// fill whole vectors and that do not, weights of one tile and of several with a narrower last one, and pixels that no
// pool window reaches.
const std::vector<PooledConvolution>& shapes() {
  static const std::vector<PooledConvolution> kShapes{
      {12, 12, 64, 5, 5, 1, 0, 128, 2}, {13, 12, 1, 5, 5, 1, 2, 32, 2},  {14, 14, 3, 5, 5, 1, 0, 64, 2},
      {9, 8, 40, 3, 3, 1, 1, 48, 2},    {10, 11, 13, 3, 3, 2, 1, 16, 2}, {8, 8, 70, 3, 3, 1, 0, 16, 3},
      {6, 6, 24, 1, 1, 1, 0, 512, 2},   {7, 9, 16, 2, 5, 1, 1, 272, 2},  {4, 4, 2, 3, 3, 1, 1, 16, 4},
      {5, 5, 8, 3, 3, 1, 1, 32, 1},
  };
  return kShapes;
}

TEST(PooledGradient, is_exact) {
  if (wide_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : wide_kernels()) {
    for (const PooledConvolution& shape : shapes()) {
      for (const Passing passing : {Passing::kMost, Passing::kAll, Passing::kNone, Passing::kOnePosition}) {
        if (passing == Passing::kOnePosition && shape.pool == 1) continue;
        SCOPED_TRACE(describe(shape) + ", passing " + std::to_string(static_cast<int>(passing)));
        PooledCase of(shape, passing);
        of.run(*kernels);
        of.expect(*kernels);
      }
    }
  }
}

TEST(PooledGradient, of_the_weights_alone_is_exact) {
  if (wide_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : wide_kernels()) {
    for (const PooledConvolution& shape : shapes()) {
      SCOPED_TRACE(describe(shape));
      PooledCase of(shape, Passing::kMost, false);
      of.run(*kernels);
      of.expect(*kernels);
    }
  }
}

TEST(PooledGradient, hides_no_value_that_is_not_finite) {
  if (wide_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : wide_kernels()) {
    for (const float bad : {kNan, std::numeric_limits<float>::infinity()}) {
      PooledCase of(shapes().front(), Passing::kAll);
      of.d_output.front() = bad;
      of.run(*kernels);
      const auto is_bad = [](float value) { return !std::isfinite(value); };
      EXPECT_TRUE(std::ranges::any_of(of.d_weights, is_bad)) << kernels->name << ": " << bad;
      EXPECT_TRUE(std::ranges::any_of(of.d_input, is_bad)) << kernels->name << ": " << bad;
    }
  }
}

}  // namespace
}  // namespace eave::cpu
