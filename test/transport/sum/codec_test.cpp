// Codecs: the values after encoding and decoding.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "eave/check.h"
#include "test/transport/numbers.h"
#include "test/transport/sum/codecs.h"

namespace eave {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// `value` rounded to `bits` significant bits, ties to even. Computed by arithmetic in double, not by bit operations.
float nearest(float value, int bits) {
  if (value == 0) return value;
  const int exponent = std::ilogb(value) + 1 - bits;
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(value), -exponent)), exponent));
}

TEST(Bf16, is_the_nearest_number_of_8_bits_halfway_to_the_even_one) {
  const auto codec = make_codec("bf16");
  EXPECT_EQ(left_of(*codec, {1, 1.00390625f, 1.01171875f, -1.00390625f, 257, 259, 0, 3e38f}),
            (std::vector<float>{1, 1, 1.015625f, -1, 256, 260, 0, nearest(3e38f, 8)}));
  std::vector<float> values = uneven_numbers(1, 5000), expected = values;
  std::ranges::transform(expected, expected.begin(), [](float value) { return nearest(value, 8); });
  EXPECT_EQ(left_of(*codec, values), expected);
}

TEST(Fp16, is_the_nearest_number_of_11_bits_as_large_or_small_as_values_may_be) {
  const auto codec = make_codec("fp16");
  for (const float size : {1e-30f, 1e-4f, 1.0f, 1e6f, 1e33f}) {
    std::vector<float> values = uneven_numbers(2, 3000);
    for (float& value : values) value *= size;
    std::vector<float> expected = values;
    std::ranges::transform(expected, expected.begin(), [](float value) { return nearest(value, 11); });
    EXPECT_EQ(left_of(*codec, values), expected) << size;
  }
}

TEST(Fp16, keeps_multiples_of_2_to_minus_38_of_the_largest) {
  const auto codec = make_codec("fp16");
  const float smallest = std::ldexp(1.0f, -38);
  EXPECT_EQ(left_of(*codec, {1, smallest, -5 * smallest, 1.5f * smallest, 0.5f * smallest, 0}),
            (std::vector<float>{1, smallest, -5 * smallest, 2 * smallest, 0, 0}));
}

TEST(Int8, is_the_nearest_of_255_steps) {
  const auto codec = make_codec("int8");
  std::vector<float> whole(255);
  std::iota(whole.begin(), whole.end(), -127.0f);
  EXPECT_EQ(left_of(*codec, whole), whole);
  EXPECT_EQ(left_of(*codec, {127, 0.5f, 1.5f, -2.5f, 3.4f, -3.6f}), (std::vector<float>{127, 0, 2, -2, 3, -4}));
  EXPECT_EQ(left_of(*codec, {0, 0, 0}), (std::vector<float>(3)));
  EXPECT_EQ(left_of(*codec, {1e-37f, -1e-38f}), (std::vector<float>(2))) << "too small to divide by";
}

TEST(TopK, keeps_the_largest_of_each_block_exactly_and_of_equals_the_first) {
  const auto codec = make_codec("top-k", "0.25");
  EXPECT_EQ(left_of(*codec, {1, -5, 2, 4, 0, -0.1f, 3, 1e-30f}), (std::vector<float>{0, -5, 0, 4, 0, 0, 0, 0}));
  EXPECT_EQ(left_of(*codec, {2, 2, -2, 2, 2, 2, 2, 2}), (std::vector<float>{2, 2, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(left_of(*codec, std::vector<float>(8)), std::vector<float>(8));
  std::vector<float> values = uneven_numbers(3, 2 * Codec::kBlock), left = left_of(*codec, values);
  for (std::size_t block = 0; block < 2; ++block) {
    std::vector<float> sorted(values.begin() + static_cast<std::ptrdiff_t>(block * Codec::kBlock),
                              values.begin() + static_cast<std::ptrdiff_t>((block + 1) * Codec::kBlock));
    std::ranges::sort(sorted, std::greater(), [](float value) { return std::abs(value); });
    const float smallest = std::abs(sorted[Codec::kBlock / 4 - 1]);
    for (std::size_t i = block * Codec::kBlock; i < (block + 1) * Codec::kBlock; ++i)
      ASSERT_EQ(left[i], std::abs(values[i]) >= smallest ? values[i] : 0) << i;
  }
}

TEST(TopK, refuses_a_share_that_sends_nothing_or_more_than_the_values) {
  for (const std::string share : {"0", "-1", "0.6", "nan"}) EXPECT_THROW(make_codec("top-k", share), Error) << share;
  EXPECT_EQ(make_codec("top-k", "0.5")->encoded_bytes(1024), 3072u);
  EXPECT_EQ(make_codec("top-k", "0.01")->encoded_bytes(1024), 66u);
  EXPECT_EQ(make_codec("top-k", "0.01")->encoded_bytes(1), 6u) << "one at least";
}

TEST(RoundingCodec, leaves_alone_what_it_has_left) {
  for (const CodecKind& kind : codec_kinds()) {
    if (!kind.only_rounds) continue;
    SCOPED_TRACE(kind.name);
    const auto codec = make_codec(kind.name);
    for (const float largest : {4095.0f, 4097.0f, 1e-42f, 3e38f, 0.0f}) {
      std::vector<float> values = uneven_numbers(7, 500);
      for (float& value : values) value = std::remainder(value, 1024.0f) * 1e-3f;
      if (largest < 1) std::ranges::fill(values, 0.0f);
      values.push_back(largest);
      const std::vector<float> once = left_of(*codec, values);
      EXPECT_TRUE(same_bits(left_of(*codec, once), once)) << largest;
      std::vector<float> passed = values;
      round_trip(*codec, passed);
      EXPECT_TRUE(same_bits(passed, once));
    }
  }
}

class EveryCodec : public testing::TestWithParam<std::string> {};

TEST_P(EveryCodec, takes_as_many_bytes_as_it_says_and_no_more_than_the_values) {
  const auto codec = make_codec(GetParam());
  EXPECT_LE(codec->encoded_bytes(Codec::kBlock), Codec::kMostBytes);
  for (std::size_t count : {1, 2, 7, 1023, 1024, 1025, 5000}) {
    std::vector<float> values = uneven_numbers(0, count);
    std::vector<std::byte> bytes(encoded_bytes(*codec, count) + 8, std::byte{0xee});
    encode(*codec, values, bytes.data());
    for (std::size_t k = bytes.size() - 8; k < bytes.size(); ++k) EXPECT_EQ(bytes[k], std::byte{0xee});
  }
  EXPECT_EQ(encoded_bytes(*codec, 3 * Codec::kBlock + 5),
            3 * codec->encoded_bytes(Codec::kBlock) + codec->encoded_bytes(5));
}

TEST_P(EveryCodec, shows_values_that_are_not_finite) {
  const auto codec = make_codec(GetParam());
  for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
    for (std::size_t place : {0, 500, 1500}) {
      std::vector<float> values = uneven_numbers(4, 1600);
      values[place] = bad;
      EXPECT_FALSE(std::isfinite(left_of(*codec, values)[place])) << bad << " at " << place;
    }
  }
  const float hidden_nan = std::bit_cast<float>(0x7f800001u);  // if it is cut to its upper 16 bits, it becomes infinity
  EXPECT_FALSE(std::isfinite(left_of(*codec, {1, hidden_nan})[1]));
  for (const float value : left_of(*codec, std::vector<float>(2000, kNan))) ASSERT_FALSE(std::isfinite(value));
}

TEST_P(EveryCodec, keeps_the_sign_and_never_grows_a_value_by_more_than_half_a_step) {
  const auto codec = make_codec(GetParam());
  const std::vector<float> values = uneven_numbers(5, 4000), left = left_of(*codec, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_GE(values[i] * left[i], 0);
    EXPECT_LE(std::abs(left[i]), std::abs(values[i]) * 2) << i;
  }
}

TEST_P(EveryCodec, does_not_depend_on_where_the_blocks_lie) {
  const auto codec = make_codec(GetParam());
  std::vector<float> values = uneven_numbers(6, 4 * Codec::kBlock + 9);
  std::vector<std::byte> whole = encoded(*codec, values), parts;
  for (std::size_t at = 0; at < values.size(); at += 2 * Codec::kBlock) {
    const std::size_t count = std::min(2 * Codec::kBlock, values.size() - at);
    const std::vector<std::byte> part = encoded(*codec, Slice(values).subspan(at, count));
    parts.insert(parts.end(), part.begin(), part.end());
  }
  EXPECT_EQ(parts, whole);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const CodecKind& kind : codec_kinds()) all.push_back(kind.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllKinds, EveryCodec, testing::ValuesIn(names()), [](const auto& each) {
  std::string name = each.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace eave
