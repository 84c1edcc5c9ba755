// Training stops when a loss is not finite, so no operation before the loss may turn NaN into 0. The danger is relu,
// which is part of many operations: for processors and libraries max(NaN, 0) is 0.
// all_finite must find one value that is not finite, at every position and for every length.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "device/operations.h"
#include "eave/device.h"
#include "kernels/elementwise/words.h"

namespace eave {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

std::vector<float> zeros(std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count)); }

// The first output of a plan whose weights are 0 and whose input is NaN.
float first_output(LinearPlan& plan, std::int64_t inputs, std::int64_t weights, int outputs, std::int64_t size,
                   bool training) {
  const std::vector<float> input(static_cast<std::size_t>(inputs), kNotANumber);
  const std::vector<float> filter = zeros(weights), bias = zeros(outputs);
  std::vector<float> output = zeros(size), saved = zeros(training ? plan.saved_size() : 0);
  std::vector<float> scratch = zeros(plan.scratch_size());
  plan.forward({input, filter, bias, output, saved, scratch});
  return output.front();
}

TEST(NanOnCpu, passes_activations_by_themselves) {
#define EAVE_WORD(word, Word) Elementwise::k##Word,
  for (const Elementwise word : {EAVE_EACH_ELEMENTWISE(EAVE_WORD)}) {
#undef EAVE_WORD
    for (const std::size_t size : {1, 7, 64, 1000}) {
      const std::vector<float> input(size, kNotANumber);
      std::vector<float> output(size);
      make_cpu_compute(1)->plan(ActivationShape{word, 0.1f})->forward({input, output, {}});
      EXPECT_TRUE(std::ranges::all_of(output, [](float value) { return std::isnan(value); }))
          << static_cast<int>(word) << ", size " << size;
    }
  }
}

TEST(NanOnCpu, passes_dense_layers_with_relu) {
  const auto cpu = make_cpu_compute(1);
  for (const std::int64_t samples : {1, 6, 64}) {
    for (const int outputs : {1, 10, 16, 128}) {
      for (const bool training : {true, false}) {
        const DenseShape shape = {samples, 20, outputs, true, training};
        EXPECT_TRUE(std::isnan(first_output(*cpu->plan(shape), samples * 20, std::int64_t{20} * outputs, outputs,
                                            samples * outputs, training)))
            << samples << " samples, " << outputs << " outputs";
      }
    }
  }
}

TEST(NanOnCpu, passes_convolutions_with_relu) {
  for (const int threads : {1, 2}) {
    const auto cpu = make_cpu_compute(threads);
    for (const int pool : {0, 2}) {
      for (const int outputs : {1, 7, 16, 64}) {
        for (const bool bias : {true, false}) {
          for (const bool training : {true, false}) {
            const ConvolutionShape shape = {3, {7, 6, 5}, {3, 3, 1, 1}, outputs, bias, true, pool, training};
            const auto plan = cpu->plan(shape);
            EXPECT_TRUE(std::isnan(first_output(*plan, 3 * shape.input.size(), std::int64_t{45} * outputs, outputs,
                                                3 * shape.output().size(), training)))
                << threads << " threads, pool " << pool << ", " << outputs << " outputs";
          }
        }
      }
    }
  }
}

TEST(NanOnCpu, passes_max_pools) {
  const auto cpu = make_cpu_compute(1);
  const auto plan = cpu->plan(MaxPoolShape{{1, {4, 4, 3}, {2, 2, 2, 0}}});
  for (const std::size_t pixel : {0, 1, 4, 5}) {  // the first window
    std::vector<float> input(48, 1.0f), output = zeros(12), winners = zeros(12);
    input[3 * pixel] = kNotANumber;
    plan->forward({input, output, winners});
    EXPECT_TRUE(std::isnan(output.front())) << pixel;
  }
}

TEST(AllFinite, finds_each_kind_of_value_that_is_not_at_any_place) {
  using Limits = std::numeric_limits<float>;
  for (const std::size_t size : {1, 3, 4095, 4096, 4097, 10000}) {
    std::vector<float> values(size, Limits::lowest());
    values[size / 2] = Limits::max();
    values[size / 3] = Limits::denorm_min();
    EXPECT_TRUE(cpu_device().all_finite(values)->get()) << size;
    for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::signaling_NaN()}) {
      for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
        std::vector<float> spoilt = values;
        spoilt[at] = bad;
        EXPECT_FALSE(cpu_device().all_finite(spoilt)->get()) << bad << " at " << at << " of " << size;
      }
    }
  }
  EXPECT_TRUE(cpu_device().all_finite({})->get());
}

}  // namespace

}  // namespace eave
