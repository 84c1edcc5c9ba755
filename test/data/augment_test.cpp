#include "data/sampling/augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "test/data/data_files.h"

namespace eave {
namespace {

constexpr float kUntouched = 12345.0F;

const std::vector<float> kMean = {0.5F, 0.25F, 0.4465F};
const std::vector<float> kDeviation = {0.2470F, 0.2435F, 0.1F};

std::vector<float> first_of(const std::vector<float>& values, int channels) {
  return std::vector<float>(values.begin(), values.begin() + channels);
}

ImageTransform make_transform(ImageShape shape, const Augmentation& augmentation) {
  return ImageTransform(shape, augmentation, first_of(kMean, shape.channels), first_of(kDeviation, shape.channels));
}

Bytes distinct_pixels(ImageShape shape) {
  Bytes pixels(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(37 * i + 11);
  return pixels;
}

float reference(int pixel, int channel) {
  const auto at = static_cast<std::size_t>(channel);
  return static_cast<float>((pixel / 255.0 - double{kMean[at]}) / double{kDeviation[at]});
}

// The reference: pads, crops and mirrors a single pixel.
float expected_value(const Bytes& pixels, ImageShape in, ImageShape out, int pad, Placing placing, int y, int x,
                     int c) {
  const int column = placing.flip ? out.width - 1 - x : x;
  const int row_in = placing.top + y - pad, column_in = placing.left + column - pad;
  const bool inside = row_in >= 0 && row_in < in.height && column_in >= 0 && column_in < in.width;
  return reference(inside ? pixels[static_cast<std::size_t>((row_in * in.width + column_in) * in.channels + c)] : 0, c);
}

void expect_all_placings_right(ImageShape in, const Augmentation& augmentation) {
  const ImageTransform transform = make_transform(in, augmentation);
  const ImageShape out = transform.output();
  const Bytes pixels = distinct_pixels(in);
  std::vector<float> values(static_cast<std::size_t>(out.size()));
  for (int top = 0; top <= in.height + 2 * augmentation.pad - out.height; ++top) {
    for (int left = 0; left <= in.width + 2 * augmentation.pad - out.width; ++left) {
      for (const bool flip : {false, true}) {
        const Placing placing{top, left, flip};
        std::fill(values.begin(), values.end(), kUntouched);
        transform.apply(pixels, placing, values);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const int at = static_cast<int>(i), c = at % out.channels;
          const int x = at / out.channels % out.width, y = at / out.channels / out.width;
          ASSERT_EQ(values[i], expected_value(pixels, in, out, augmentation.pad, placing, y, x, c))
              << "top " << top << ", left " << left << ", flip " << flip << ", y " << y << ", x " << x << ", c " << c;
        }
      }
    }
  }
}

TEST(ImageTransform, writes_every_crop_border_and_mirror_as_the_plain_reference_does) {
  for (const int channels : {1, 2, 3}) {
    for (const int pad : {0, 1, 3, 9}) {
      for (const int crop_height : {0, 1, 4}) {
        for (const int crop_width : {0, 2, 7}) {
          if (crop_width > 6 + 2 * pad) continue;
          expect_all_placings_right({5, 6, channels}, {pad, crop_height, crop_width, true});
        }
      }
    }
  }
}

TEST(ImageTransform, normalises_every_pixel_value_exactly_as_double_arithmetic_rounded_once) {
  const ImageShape shape{16, 16, 3};
  const ImageTransform transform = make_transform(shape, {});
  Bytes pixels;
  for (int value = 0; value < 256; ++value) pixels.insert(pixels.end(), 3, static_cast<std::uint8_t>(value));
  std::vector<float> values(pixels.size());
  transform.apply(pixels, transform.centre(), values);
  for (int value = 0; value < 256; ++value) {
    for (int channel = 0; channel < 3; ++channel) {
      EXPECT_EQ(values[static_cast<std::size_t>(3 * value + channel)], reference(value, channel)) << value;
    }
  }
}

TEST(ImageTransform, centre_leaves_as_much_on_either_side) {
  const Placing placing = make_transform({32, 30, 3}, {2, 28, 24, true}).centre();
  EXPECT_EQ(placing.top, 4);
  EXPECT_EQ(placing.left, 5);
  EXPECT_FALSE(placing.flip);
}

// The bound is five standard deviations of a binomial distribution with 20,000 draws.
TEST(ImageTransform, mirrors_half_of_all_samples) {
  const ImageTransform transform = make_transform({8, 8, 1}, {0, 0, 0, true});
  int flips = 0;
  for (std::int64_t index = 0; index < 20000; ++index) flips += transform.random(1, 5, index).flip;
  EXPECT_NEAR(flips, 10000, 5 * std::sqrt(20000 / 4.0));
}

TEST(ImageTransform, mirrors_nothing_when_not_asked_to) {
  const ImageTransform transform = make_transform({8, 8, 1}, {1, 0, 0, false});
  for (std::int64_t index = 0; index < 1000; ++index) ASSERT_FALSE(transform.random(1, 5, index).flip);
}

// The 5 x 5 positions and two mirrors must be uniform together. A chi-square of 115 with 49 degrees of freedom has a
// probability below 1e-6.
TEST(ImageTransform, all_positions_and_mirrors_are_equally_likely) {
  const ImageTransform transform = make_transform({8, 8, 1}, {2, 0, 0, true});
  std::map<std::tuple<int, int, bool>, int> count;
  for (std::int64_t index = 0; index < 50000; ++index) {
    const Placing placing = transform.random(3, index % 100, index / 100);
    ++count[{placing.top, placing.left, placing.flip}];
  }
  ASSERT_EQ(count.size(), 50u);
  double chi_square = 0;
  for (const auto& [placing, times] : count) chi_square += (times - 1000.0) * (times - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 115);
}

TEST(ImageTransform, placing_depends_on_seed_step_and_index_alone) {
  const ImageTransform transform = make_transform({32, 32, 3}, {16, 0, 0, true});
  const auto place = [&](std::uint64_t seed, std::int64_t step, std::int64_t index) {
    const Placing placing = transform.random(seed, step, index);
    return std::tuple(placing.top, placing.left, placing.flip);
  };
  EXPECT_EQ(place(1, 2, 3), place(1, 2, 3));
  int same_seed = 0, same_step = 0, same_index = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    same_seed += place(1, 2, i) == place(2, 2, i);
    same_step += place(1, 2, i) == place(1, 3, i);
    same_index += place(1, 2, i) == place(1, 2, i + 1);
  }
  // Two draws among 33 · 33 · 2 placings are equal about once in 2,178.
  EXPECT_LT(same_seed + same_step + same_index, 15);
}

TEST(Augmentation, output_is_the_crop_or_the_image) {
  EXPECT_EQ((Augmentation{4, 0, 0, true}.output({32, 30, 3})), (ImageShape{32, 30, 3}));
  EXPECT_EQ((Augmentation{0, 28, 24, false}.output({32, 30, 3})), (ImageShape{28, 24, 3}));
  EXPECT_EQ((Augmentation{1, 34, 32, false}.output({32, 30, 3})), (ImageShape{34, 32, 3}));
}

TEST(Augmentation, a_crop_larger_than_the_padded_image_is_refused_with_both_sizes) {
  expect_refusal(refusal_of([] {
                   Augmentation{1, 35, 0, false}.output({32, 32, 3});
                 }),
                 ExitCode::kConfiguration, {"35 x 32", "32 x 32", "padded by 1"});
  EXPECT_EQ(refusal_of([] { Augmentation{-1, 0, 0, false}.output({32, 32, 3}); }).code, ExitCode::kConfiguration);
  EXPECT_EQ(refusal_of([] { Augmentation{0, -2, 0, false}.output({32, 32, 3}); }).code, ExitCode::kConfiguration);
}

}  // namespace
}  // namespace eave
