// Passes over images: pools, shortcuts, and bytes that become images.
#include "kernels/cuda/images.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/sampling/augment.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/layers.h"
#include "kernels/cuda/layers.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

template <class T>
class CudaImages : public testing::Test {};
using Types = testing::Types<float, Half>;
TYPED_TEST_SUITE(CudaImages, Types);

PoolGeometry pool_of(std::int64_t samples, int height, int width, int channels, int window_height, int window_width,
                     int stride, int pad) {
  return {samples,
          height,
          width,
          channels,
          (height + 2 * pad - window_height) / stride + 1,
          (width + 2 * pad - window_width) / stride + 1,
          window_height,
          window_width,
          stride,
          pad};
}

std::size_t inputs(const PoolGeometry& p) {
  return static_cast<std::size_t>(p.samples * p.height * p.width * p.channels);
}
std::size_t outputs(const PoolGeometry& p) {
  return static_cast<std::size_t>(p.samples * p.rows * p.columns * p.channels);
}

// Windows without overlap, with overlap, with gaps, and with padding; rows and columns that no window reaches; channels
// that fill packets and that do not.
const std::vector<PoolGeometry> kPools = {pool_of(2, 8, 8, 16, 2, 2, 2, 0), pool_of(3, 7, 9, 6, 2, 2, 2, 0),
                                          pool_of(2, 9, 8, 8, 3, 3, 2, 1),  pool_of(1, 6, 6, 3, 2, 2, 3, 0),
                                          pool_of(2, 5, 7, 12, 3, 2, 1, 1), pool_of(40, 4, 4, 8, 4, 4, 4, 0)};

// Few distinct values, so that windows hold ties.
template <class T>
std::vector<float> few_numbers(std::size_t size, std::uint32_t part) {
  auto values = some_numbers<T>(size, part);
  for (float& value : values) value = std::round(value * 2);
  return values;
}

TYPED_TEST(CudaImages, max_pool_is_that_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const PoolGeometry& p : kPools) {
    for (const std::size_t offset : {0u, 1u}) {
      const auto x = few_numbers<T>(inputs(p), 1), d = some_numbers<T>(outputs(p), 2);
      OnDevice<T> x_there(stream, as<T>(x), offset), y_there(stream, outputs(p), offset);
      OnDevice<T> d_there(stream, as<T>(d), offset), d_x_there(stream, inputs(p), offset);
      OnDevice<std::uint8_t> winners_there(stream, outputs(p), offset);
      std::vector<float> y(outputs(p)), d_x(inputs(p));
      std::vector<std::uint8_t> winners(outputs(p));
      max_pool_forward<T>(stream, p, x_there.data(), y_there.data(), winners_there.data());
      cpu::max_pool(p, x.data(), y.data(), winners.data());
      expect_rounded(y_there.read(), y);
      EXPECT_EQ(winners_there.read(), winners);
      max_pool_backward<T>(stream, p, winners_there.data(), d_there.data(), d_x_there.data());
      cpu::max_pool_gradient(p, winners.data(), d.data(), d_x.data());
      expect_rounded(d_x_there.read(), d_x);
      max_pool_forward<T>(stream, p, x_there.data(), y_there.data(), nullptr);
      expect_rounded(y_there.read(), y);
    }
  }
}

TYPED_TEST(CudaImages, nan_wins_wherever_in_the_window_it_is) {
  using T = TypeParam;
  const TestStream stream;
  const PoolGeometry p = pool_of(1, 4, 4, 8, 2, 2, 2, 0);
  for (const std::size_t pixel : {0, 1, 4, 5}) {  // the first window
    std::vector<float> x(inputs(p), 1.0f);
    x[8 * pixel] = std::numeric_limits<float>::quiet_NaN();
    OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, outputs(p));
    max_pool_forward<T>(stream, p, x_there.data(), y_there.data(), nullptr);
    EXPECT_TRUE(std::isnan(to_floats(y_there.read()).front())) << pixel;
    bias_relu_max_pool<T>(stream, p, x_there.data(), nullptr, true, y_there.data(), nullptr);
    EXPECT_TRUE(std::isnan(to_floats(y_there.read()).front())) << pixel;
  }
}

TYPED_TEST(CudaImages, bias_relu_and_pool_in_one_are_those_three) {
  using T = TypeParam;
  const TestStream stream;
  for (const PoolGeometry& p : kPools) {
    if (p.stride != p.window_height || p.pad != 0) continue;
    for (const bool relu : {false, true}) {
      auto x = few_numbers<T>(inputs(p), 1);
      const auto bias = few_numbers<float>(static_cast<std::size_t>(p.channels), 3);
      const auto d = some_numbers<T>(outputs(p), 2);
      OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, outputs(p)), d_there(stream, as<T>(d));
      OnDevice<T> d_x_there(stream, inputs(p));
      OnDevice<float> bias_there(stream, bias);
      OnDevice<std::uint8_t> winners_there(stream, outputs(p));
      bias_relu_max_pool<T>(stream, p, x_there.data(), bias_there.data(), relu, y_there.data(), winners_there.data());
      max_pool_backward<T>(stream, p, winners_there.data(), d_there.data(), d_x_there.data());

      cpu::add_bias(x.data(), bias.data(), relu, p.samples * p.height * p.width, p.channels);
      std::vector<float> y(outputs(p)), d_x(inputs(p)), masked(outputs(p));
      std::vector<std::uint8_t> winners(outputs(p));
      cpu::max_pool(p, x.data(), y.data(), winners.data());
      cpu::activation_backward(Elementwise::kRelu, 0, nullptr, y.data(), d.data(), masked.data(),
                               static_cast<std::int64_t>(outputs(p)));
      cpu::max_pool_gradient(p, winners.data(), relu ? masked.data() : d.data(), d_x.data());
      for (std::size_t i = 0; i < winners.size(); ++i) winners[i] = relu && y[i] <= 0 ? cpu::kDead : winners[i];
      expect_rounded(y_there.read(), y);
      EXPECT_EQ(winners_there.read(), winners);
      expect_rounded(d_x_there.read(), d_x);
    }
  }
}

TYPED_TEST(CudaImages, average_pool_is_that_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const PoolGeometry& p : kPools) {
    const auto x = some_numbers<T>(inputs(p), 1), d = some_numbers<T>(outputs(p), 2);
    OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, outputs(p)), d_there(stream, as<T>(d));
    OnDevice<T> d_x_there(stream, inputs(p));
    std::vector<float> y(outputs(p)), d_x(inputs(p));
    average_pool_forward<T>(stream, p, x_there.data(), y_there.data());
    average_pool_backward<T>(stream, p, d_there.data(), d_x_there.data());
    cpu::average_pool(p, x.data(), y.data());
    cpu::average_pool_gradient(p, d.data(), d_x.data());
    // If windows overlap, the CPU's compiler may fuse multiply and add; otherwise there is nothing to fuse.
    expect_near(to_floats(y_there.read()), y, kRounding<T>, 1e-6);
    expect_near(to_floats(d_x_there.read()), d_x, kRounding<T>, 1e-6);
  }
}

TYPED_TEST(CudaImages, shortcut_is_that_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  const std::vector<ShortcutGeometry> shapes = {{2, 8, 8, 16, 4, 4, 32, 2},
                                                {3, 7, 9, 6, 4, 5, 11, 2},
                                                {1, 4, 4, 8, 4, 4, 8, 1},
                                                {2, 8, 8, 16, 4, 4, 64, 2},
                                                {1, 7, 7, 4, 3, 3, 8, 3}};
  for (const ShortcutGeometry& s : shapes) {
    const auto inputs = static_cast<std::size_t>(s.samples * s.height * s.width * s.channels);
    const auto outputs = static_cast<std::size_t>(s.samples * s.rows * s.columns * s.outputs);
    const auto x = some_numbers<T>(inputs, 1), d = some_numbers<T>(outputs, 2);
    OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, outputs), d_there(stream, as<T>(d));
    OnDevice<T> d_x_there(stream, inputs);
    std::vector<float> y(outputs), d_x(inputs);
    shortcut_forward<T>(stream, s, x_there.data(), y_there.data());
    shortcut_backward<T>(stream, s, d_there.data(), d_x_there.data());
    cpu::shortcut(s, x.data(), y.data());
    cpu::shortcut_gradient(s, d.data(), d_x.data());
    expect_rounded(y_there.read(), y);
    expect_rounded(d_x_there.read(), d_x);
  }
}

struct ImageCase {
  ImageShape input;
  int pad, crop_height, crop_width, channels;
};

// For each channel, the normalised value of each byte, as ImageTransform computes it.
std::vector<float> tables_of(const std::vector<float>& mean, const std::vector<float>& deviation) {
  std::vector<float> tables;
  for (std::size_t c = 0; c < mean.size(); ++c) {
    for (int value = 0; value < 256; ++value) {
      tables.push_back(static_cast<float>((value / 255.0 - double{mean[c]}) / double{deviation[c]}));
    }
  }
  return tables;
}

template <class T>
void expect_equal_images(const ImageCase& of, bool random) {
  constexpr std::uint64_t kSeed = 0x123456789abcdef;
  constexpr std::int64_t kStep = 77;
  const std::vector<std::int64_t> indices = {3, 0, 7, 7, 5};
  std::vector<std::uint8_t> bytes(8 * static_cast<std::size_t>(of.input.size()));
  RandomStream stream_of_bytes({1, Purpose::kTest, 0}, 0);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(stream_of_bytes.next_word());
  const auto channels = static_cast<std::size_t>(of.input.channels);
  const std::vector<float> mean(channels, 0.47f), deviation(channels, 0.23f);
  Augmentation augmentation;
  augmentation.pad = of.pad;
  augmentation.crop_height = of.crop_height;
  augmentation.crop_width = of.crop_width;
  augmentation.flip = true;
  const ImageTransform transform(of.input, augmentation, mean, deviation);

  const TestStream stream;
  OnDevice<std::uint8_t> bytes_there(stream, bytes);
  OnDevice<std::int64_t> indices_there(stream, indices);
  OnDevice<float> tables(stream, tables_of(mean, deviation));
  OnDevice<PassBlock> block(stream, std::vector<PassBlock>{{kSeed, kStep, 1, static_cast<int>(indices.size())}});
  const auto pixels = static_cast<std::size_t>(of.crop_height * of.crop_width);
  const auto padded = static_cast<std::size_t>(of.channels);
  OnDevice<T> images(stream, indices.size() * pixels * padded);
  write_images<T>(stream,
                  {static_cast<std::int64_t>(indices.size()), of.input, of.pad, of.crop_height, of.crop_width, random,
                   true, of.channels},
                  block.data(), indices_there.data(), bytes_there.data(), tables.data(), images.data());

  std::vector<float> expected(images.size(), 0.0f), one(pixels * channels);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t from = static_cast<std::size_t>(indices[i] * of.input.size());
    transform.apply({bytes.data() + from, static_cast<std::size_t>(of.input.size())},
                    random ? transform.random(kSeed, kStep, indices[i]) : transform.centre(), one);
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::size_t c = 0; c < channels; ++c)
        expected[(i * pixels + pixel) * padded + c] = one[pixel * channels + c];
    }
  }
  expect_rounded(images.read(), expected);
}

TYPED_TEST(CudaImages, bytes_become_the_images_of_the_loader) {
  const std::vector<ImageCase> cases = {{{32, 32, 3}, 4, 32, 32, 3}, {{32, 32, 3}, 4, 32, 32, 4},
                                        {{28, 28, 1}, 0, 28, 28, 1}, {{9, 11, 3}, 2, 7, 13, 8},
                                        {{20, 16, 2}, 0, 5, 6, 2},   {{3, 3, 1}, 9, 4, 20, 1}};
  for (const ImageCase& each : cases) {
    expect_equal_images<TypeParam>(each, true);
    expect_equal_images<TypeParam>(each, false);
  }
}

}  // namespace
}  // namespace eave::cuda
