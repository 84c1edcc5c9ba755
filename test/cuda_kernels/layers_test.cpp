// Passes over activations in float and bfloat16, against the CPU's passes in float on the same values. Results of a
// single pass differ only by the rounding to the type. Sums differ more, because they run in another order.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/batch_norm.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/elementwise.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

template <class T>
class CudaLayers : public testing::Test {};
using Types = testing::Types<float, Half>;
TYPED_TEST_SUITE(CudaLayers, Types);

// Rows that fill less than a tile, one tile, or several blocks; channels that fill packets and that do not.
struct Extent {
  std::int64_t rows, channels;
  std::size_t size() const { return static_cast<std::size_t>(rows * channels); }
};
const std::vector<Extent> kExtents = {{1, 1}, {7, 10}, {33, 6}, {64, 8}, {700, 16}, {1030, 24}, {300, 264}};

TYPED_TEST(CudaLayers, add_is_that_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const std::size_t size : {1u, 9u, 4099u}) {
    for (const std::size_t offset : {0u, 1u}) {
      const auto count = static_cast<std::int64_t>(size);
      const auto x = some_numbers<T>(size, 1), y = some_numbers<T>(size, 2);
      OnDevice<T> a(stream, as<T>(x), offset), b(stream, as<T>(y), 0);
      std::vector<float> expected(size);
      add(stream, a.data(), b.data(), a.data(), count);
      cpu::add(x.data(), y.data(), expected.data(), count);
      expect_rounded(a.read(), expected);
    }
  }
}

TYPED_TEST(CudaLayers, bias_and_relu_are_those_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const Extent& extent : kExtents) {
    for (const std::size_t offset : {0u, 1u}) {
      for (const bool relu : {false, true}) {
        auto values = some_numbers<T>(extent.size(), 1);
        const auto bias = some_numbers(static_cast<std::size_t>(extent.channels), 2);
        OnDevice<T> on_device(stream, as<T>(values), offset);
        OnDevice<float> bias_there(stream, bias);
        bias_forward(stream, on_device.data(), bias_there.data(), relu, extent.rows, extent.channels);
        cpu::add_bias(values.data(), bias.data(), relu, extent.rows, extent.channels);
        expect_rounded(on_device.read(), values);
      }
    }
  }
}

TYPED_TEST(CudaLayers, bias_gradient_masks_and_sums_the_same_each_time) {
  using T = TypeParam;
  const TestStream stream;
  for (const Extent& extent : kExtents) {
    for (const bool relu : {false, true}) {
      const auto y = some_numbers<T>(extent.size(), 1);
      auto d = some_numbers<T>(extent.size(), 2);
      std::vector<float> d_bias(static_cast<std::size_t>(extent.channels));
      OnDevice<T> output(stream, as<T>(y)), first(stream, as<T>(d)), second(stream, as<T>(d));
      OnDevice<float> sums(stream, d_bias.size()), again(stream, d_bias.size());
      OnDevice<double> scratch(stream, static_cast<std::size_t>(bias_scratch(extent.rows, extent.channels)));
      const T* mask = relu ? output.data() : nullptr;
      bias_backward(stream, mask, first.data(), sums.data(), extent.rows, extent.channels, scratch.data());
      bias_backward(stream, mask, second.data(), again.data(), extent.rows, extent.channels, scratch.data());
      cpu::add_bias_gradient(relu ? y.data() : nullptr, d.data(), d_bias.data(), extent.rows, extent.channels);
      expect_rounded(first.read(), d);
      // The terms are near 1, and each group sums them in float, so the tolerance grows with the rows.
      expect_near(sums.read(), d_bias, 0, 2e-7 * static_cast<double>(extent.rows) + 1e-6);
      expect_same_bits(sums.read(), again.read());
      OnDevice<T> masked(stream, as<T>(some_numbers<T>(extent.size(), 2)));
      bias_backward<T>(stream, mask, masked.data(), nullptr, extent.rows, extent.channels, nullptr);
      expect_rounded(masked.read(), d);
    }
  }
}

TEST(CudaLayersOfFloat, pass_nan_where_the_cpu_does) {
  const TestStream stream;
  std::vector<float> values = {std::numeric_limits<float>::quiet_NaN(), 1, -1, 2};
  const std::vector<float> bias(4, 0.0f);
  OnDevice<float> on_device(stream, values), bias_there(stream, bias);
  bias_forward(stream, on_device.data(), bias_there.data(), true, 1, 4);
  EXPECT_TRUE(std::isnan(on_device.read()[0]));
}

constexpr float kMomentum = 0.1f, kEpsilon = 1e-5f;

// Batch norm from the CPU's kernels, in the order in which CpuBatchNorm calls them.
struct CpuNorm {
  explicit CpuNorm(const Extent& extent)
      : of(extent),
        channels(static_cast<std::size_t>(extent.channels)),
        sums(2 * channels),
        mean(channels),
        variance(channels),
        inverse(channels),
        a(channels),
        b(channels),
        c(channels) {}

  void forward(const std::vector<float>& x, const float* skip, const std::vector<float>& scale,
               const std::vector<float>& shift, bool relu, std::vector<float>& y) {
    cpu::channel_moments(x.data(), of.rows, of.channels, {sums.data(), sums.data() + channels}, mean.data(),
                         variance.data());
    for (std::size_t i = 0; i < channels; ++i) {
      inverse[i] = 1.0f / std::sqrt(variance[i] + kEpsilon);
      a[i] = scale[i] * inverse[i];
      b[i] = shift[i] - mean[i] * a[i];
    }
    cpu::normalise(x.data(), skip, a.data(), b.data(), relu, of.rows, of.channels, y.data());
  }

  void backward(const std::vector<float>& x, const float* y, const float* more, const std::vector<float>& scale,
                std::vector<float>& d, std::vector<float>& d_x) {
    d_scale.resize(channels);
    d_shift.resize(channels);
    cpu::norm_gradient_sums({x.data(), y, more, mean.data(), inverse.data()}, of.rows, of.channels,
                            {sums.data(), sums.data() + channels}, d.data(), d_scale.data(), d_shift.data());
    const float share = 1.0f / static_cast<float>(of.rows);
    for (std::size_t i = 0; i < channels; ++i) {
      a[i] = scale[i] * inverse[i];
      b[i] = -a[i] * inverse[i] * d_scale[i] * share;
      c[i] = -a[i] * d_shift[i] * share - b[i] * mean[i];
    }
    cpu::norm_input_gradient({d.data(), x.data(), a.data(), b.data(), c.data()}, of.rows, of.channels, d_x.data());
  }

  Extent of;
  std::size_t channels;
  std::vector<double> sums;
  std::vector<float> mean, variance, inverse, a, b, c, d_scale, d_shift;
};

struct Variant {
  bool relu, skip;
};
const std::vector<Variant> kVariants = {{false, false}, {true, false}, {true, true}, {false, true}};

// Runs one batch norm on both devices, forward and backward, and compares.
template <class T>
void expect_equal_norms(const Extent& extent, const Variant& variant, std::size_t offset) {
  const TestStream stream;
  const auto channels = static_cast<std::size_t>(extent.channels);
  auto x = some_numbers<T>(extent.size(), 1);
  for (float& value : x) value = to_floats(as<T>({value + 3}))[0];  // mean 3, so that cancellation would show
  const auto skip = some_numbers<T>(extent.size(), 2), scale = some_numbers(channels, 3);
  const auto shift = some_numbers(channels, 4), d_more = some_numbers<T>(extent.size(), 5);
  auto d = some_numbers<T>(extent.size(), 6);
  const auto running = some_numbers(channels, 7);

  OnDevice<T> x_there(stream, as<T>(x), offset), skip_there(stream, as<T>(skip), offset);
  OnDevice<T> y_there(stream, extent.size(), offset), d_there(stream, as<T>(d), offset);
  OnDevice<T> more_there(stream, as<T>(d_more), offset), d_x_there(stream, extent.size(), offset);
  OnDevice<float> scale_there(stream, scale), shift_there(stream, shift), saved(stream, 2 * channels);
  OnDevice<float> mean_there(stream, running), variance_there(stream, running), batch_variance(stream, channels);
  OnDevice<float> d_scale(stream, channels), d_shift(stream, channels);
  const NormShape shape = {extent.rows, extent.channels, variant.relu};
  OnDevice<std::uint64_t> scratch(stream, static_cast<std::size_t>(norm_scratch_bytes(shape) + 7) / 8);

  norm_forward<T>(stream, shape,
                  {x_there.data(), variant.skip ? skip_there.data() : nullptr, scale_there.data(), shift_there.data(),
                   y_there.data(), saved.data(), mean_there.data(), variance_there.data(), batch_variance.data(),
                   kMomentum, kEpsilon},
                  scratch.data());
  CpuNorm cpu(extent);
  std::vector<float> y(extent.size()), d_x(extent.size());
  cpu.forward(x, variant.skip ? skip.data() : nullptr, scale, shift, variant.relu, y);

  // Sums of at most 64 numbers of size 4 in float err by 1e-6 of the mean and of the variance. The error is larger if
  // few rows have a small variance. Then follows one rounding to T.
  const double slack = extent.rows < 8 ? 1e-3 : 2e-5;
  expect_near(to_floats(y_there.read()), y, kRounding<T>, slack);
  auto kept = saved.read();
  expect_near(
      kept,
      [&] {
        auto both = cpu.mean;
        both.insert(both.end(), cpu.inverse.begin(), cpu.inverse.end());
        return both;
      }(),
      1e-5, 1e-6);
  expect_near(batch_variance.read(), cpu.variance, 1e-5, 1e-6);
  auto expected_mean = running, expected_variance = running;
  const float unbiased = static_cast<float>(extent.rows) / static_cast<float>(extent.rows > 1 ? extent.rows - 1 : 1);
  for (std::size_t i = 0; i < channels; ++i) {
    expected_mean[i] += kMomentum * (cpu.mean[i] - expected_mean[i]);
    expected_variance[i] += kMomentum * (cpu.variance[i] * unbiased - expected_variance[i]);
  }
  expect_near(mean_there.read(), expected_mean, 1e-5, 1e-6);
  expect_near(variance_there.read(), expected_variance, 1e-5, 1e-6);

  // Both backward passes start from the device's output and statistics, so that only their own differences count.
  y = to_floats(y_there.read());
  cpu.mean.assign(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(channels));
  cpu.inverse.assign(kept.begin() + static_cast<std::ptrdiff_t>(channels), kept.end());
  norm_backward<T>(stream, shape,
                   {x_there.data(), y_there.data(), scale_there.data(), saved.data(), d_there.data(),
                    variant.skip ? more_there.data() : nullptr, d_x_there.data(), d_scale.data(), d_shift.data()},
                   scratch.data());
  cpu.backward(x, variant.relu ? y.data() : nullptr, variant.skip ? d_more.data() : nullptr, scale, d, d_x);
  expect_rounded(d_there.read(), d);
  const double largest = *std::ranges::max_element(cpu.inverse);
  const double sum_slack = 1e-6 * static_cast<double>(extent.rows) + 1e-5;
  expect_near(d_shift.read(), cpu.d_shift, 1e-6, sum_slack);
  expect_near(d_scale.read(), cpu.d_scale, 1e-5, sum_slack * largest * 8);
  // In bfloat16 d_output is rounded, and a·d carries that error into a result that may be near 0. Values are below 8.
  const double carried = std::is_same_v<T, Half> ? 8 * 0x1p-8 : 1e-5;
  expect_near(to_floats(d_x_there.read()), d_x, kRounding<T>, carried * largest * 4);
}

TYPED_TEST(CudaLayers, batch_norm_is_that_of_the_cpu) {
  for (const Extent& extent : kExtents) {
    for (const Variant& variant : kVariants) {
      for (const std::size_t offset : {0u, 1u}) {
        SCOPED_TRACE(std::to_string(extent.rows) + " x " + std::to_string(extent.channels));
        // With one row the deviation is 0 and its inverse 316, so the comparison would say nothing.
        if (extent.rows > 1) expect_equal_norms<TypeParam>(extent, variant, offset);
      }
    }
  }
}

TYPED_TEST(CudaLayers, batch_norm_evaluates_with_given_statistics) {
  using T = TypeParam;
  const TestStream stream;
  for (const Extent& extent : kExtents) {
    const auto channels = static_cast<std::size_t>(extent.channels);
    const auto x = some_numbers<T>(extent.size(), 1);
    const auto scale = some_numbers(channels, 2), shift = some_numbers(channels, 3), mean = some_numbers(channels, 4);
    auto variance = some_numbers(channels, 5);
    for (float& value : variance) value *= value;
    OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, extent.size());
    OnDevice<float> scale_there(stream, scale), shift_there(stream, shift), mean_there(stream, mean);
    OnDevice<float> variance_there(stream, variance);
    const NormShape shape = {extent.rows, extent.channels, true};
    OnDevice<std::uint64_t> scratch(stream, static_cast<std::size_t>(norm_scratch_bytes(shape) + 7) / 8);
    norm_evaluate<T>(stream, shape,
                     {x_there.data(), nullptr, scale_there.data(), shift_there.data(), mean_there.data(),
                      variance_there.data(), y_there.data(), kEpsilon},
                     scratch.data());
    std::vector<float> a(channels), b(channels), y(extent.size());
    for (std::size_t i = 0; i < channels; ++i) {
      a[i] = scale[i] / std::sqrt(variance[i] + kEpsilon);
      b[i] = shift[i] - mean[i] * a[i];
    }
    cpu::normalise(x.data(), nullptr, a.data(), b.data(), true, extent.rows, extent.channels, y.data());
    // a is up to 300; the CPU's compiler may fuse.
    expect_near(to_floats(y_there.read()), y, kRounding<T>, 1e-4);
  }
}

}  // namespace
}  // namespace eave::cuda
