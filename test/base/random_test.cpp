// The counter-based generator gives Philox's published numbers, independent streams, and the right distributions.
#include "eave/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace eave {
namespace {

// Known answers published with the generator (Random123, philox4x32-10).
TEST(Random, is_philox4x32_10) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, ~std::uint64_t{0}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, seeds_purposes_parts_and_counters_give_different_numbers) {
  std::set<std::uint32_t> first_words;
  int keys = 0;
  for (std::uint64_t seed : {0, 1, 2}) {
    for (Purpose purpose : {Purpose::kShuffle, Purpose::kDropout}) {
      for (std::uint32_t part : {0u, 1u}) {
        for (std::uint64_t a : {0, 1}) {
          first_words.insert(RandomStream({seed, purpose, part}, a).next_word());
          ++keys;
        }
      }
    }
  }
  EXPECT_EQ(static_cast<int>(first_words.size()), keys);
}

TEST(Random, stream_equals_words_at_its_counter) {
  const RandomKey key{7, Purpose::kAugment, 3};
  RandomStream stream(key, 11);
  for (std::uint64_t block = 0; block < 3; ++block) {
    for (std::uint32_t word : random_words(key, 11, block)) EXPECT_EQ(stream.next_word(), word);
  }
}

// Bounds are 5 standard errors. A wrong distribution lies far outside; a right one exceeds them for about one seed in
// two million.
TEST(Random, uniform_below_and_normal_have_their_moments) {
  RandomStream stream({1, Purpose::kTest, 0}, 0);
  constexpr int kCount = 100000;
  double uniform_sum = 0, normal_sum = 0, normal_square = 0;
  std::vector<int> bins(7);
  for (int i = 0; i < kCount; ++i) {
    uniform_sum += stream.uniform();
    const double z = stream.normal();
    normal_sum += z;
    normal_square += z * z;
    ++bins[stream.below(7)];
  }
  EXPECT_NEAR(uniform_sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(normal_sum / kCount, 0.0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(normal_square / kCount, 1.0, 5 * std::sqrt(2.0 / kCount));
  for (int count : bins) EXPECT_NEAR(count, kCount / 7.0, 5 * std::sqrt(kCount / 7.0));
}

}  // namespace
}  // namespace eave
