// The dataset "synthetic": its sizes, bytes and classes.
#include <gtest/gtest.h>

#include <algorithm>

#include "test/data/data_files.h"
#include "test/data/moments.h"

namespace eave {
namespace {

DataSplit small(std::map<std::string, std::string> given = {}) {
  given.insert({"synthetic-samples", "3000"});
  given.insert({"synthetic-test-samples", "300"});
  return open_dataset("synthetic", given);
}

TEST(Synthetic, has_the_number_size_and_channels_asked_for) {
  const DataSplit split = small({{"synthetic-samples", "17"},
                                 {"synthetic-test-samples", "5"},
                                 {"synthetic-size", "33"},
                                 {"synthetic-channels", "3"}});
  EXPECT_EQ(split.train->size(), 17);
  EXPECT_EQ(split.test->size(), 5);
  EXPECT_EQ(split.train->shape(), (ImageShape{33, 33, 3}));
}

TEST(Synthetic, a_sample_is_the_same_however_many_there_are) {
  const DataSplit few = small({{"synthetic-samples", "100"}}), many = small({{"synthetic-samples", "2147483647"}});
  for (std::int64_t index = 0; index < 100; ++index) {
    ASSERT_EQ(few.train->label(index), many.train->label(index));
    ASSERT_EQ(pixels_of(*few.train, index), pixels_of(*many.train, index));
  }
  EXPECT_NO_THROW(pixels_of(*many.train, 2147483646));
}

TEST(Synthetic, seed_part_and_index_each_make_another_picture) {
  const DataSplit split = small(), other = small({{"synthetic-seed", "2"}});
  for (std::int64_t index = 0; index < 50; ++index) {
    const Bytes pixels = pixels_of(*split.train, index);
    ASSERT_NE(pixels, pixels_of(*split.train, index + 1));
    ASSERT_NE(pixels, pixels_of(*split.test, index));
    ASSERT_NE(pixels, pixels_of(*other.train, index));
  }
}

// The FNV-1a hash of 100 pictures and labels. The bytes must be the same on every machine. They must also be the same
// in later versions, unless a version announces a change.
TEST(Synthetic, draws_the_same_bytes_everywhere) {
  const DataSplit split = small();
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (std::int64_t index = 0; index < 100; ++index) {
    add(static_cast<std::uint8_t>(split.train->label(index)));
    for (const std::uint8_t pixel : pixels_of(*split.train, index)) add(pixel);
  }
  EXPECT_EQ(hash, 6639713087611022752u);
}

// A binomial distribution with 30,000 draws of probability 0.1 has a standard deviation of 52.
TEST(Synthetic, classes_are_equally_likely) {
  const DataSplit split = small({{"synthetic-samples", "30000"}});
  for (const std::int64_t count : class_counts(*split.train)) EXPECT_NEAR(count, 3000, 5 * 52);
}

TEST(Synthetic, normalisation_fits_the_whole_set) {
  for (const char* channels : {"1", "3"}) {
    const DataSplit split = small({{"synthetic-channels", channels}});
    const Moments moments = moments_of(*split.train);
    for (std::size_t channel = 0; channel < moments.mean.size(); ++channel) {
      EXPECT_NEAR(moments.mean[channel], split.mean[channel], 0.02) << "measured on 500 of the samples";
      EXPECT_NEAR(moments.deviation[channel], split.deviation[channel], 0.02);
    }
  }
}

// Digits stay inside their pictures, so the outermost pixels are background in almost all pictures.
TEST(Synthetic, digits_stand_inside_their_pictures) {
  const DataSplit split = small();
  double frame = 0, inside = 0;
  for (std::int64_t index = 0; index < 1000; ++index) {
    const Bytes pixels = pixels_of(*split.train, index);
    for (std::size_t i = 0; i < 784; ++i) {
      const std::size_t x = i % 28, y = i / 28;
      (x == 0 || y == 0 || x == 27 || y == 27 ? frame : inside) += pixels[i];
    }
  }
  EXPECT_LT(frame / 108, 0.8 * inside / 676);
}

std::int64_t distance(const Bytes& a, const Bytes& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (int{a[i]} - int{b[i]}) * (int{a[i]} - int{b[i]});
  return sum;
}

// Classifies by the nearest of 3,000 training pictures. This must be far better than chance and far from perfect.
TEST(Synthetic, is_learnable_but_not_trivial) {
  const DataSplit split = small();
  std::vector<Bytes> known;
  for (std::int64_t index = 0; index < 3000; ++index) known.push_back(pixels_of(*split.train, index));
  int right = 0;
  for (std::int64_t index = 0; index < 300; ++index) {
    const Bytes pixels = pixels_of(*split.test, index);
    std::int64_t nearest = 0, least = INT64_MAX;
    for (std::int64_t i = 0; i < 3000; ++i) {
      const std::int64_t d = distance(pixels, known[static_cast<std::size_t>(i)]);
      if (d < least) {
        least = d;
        nearest = i;
      }
    }
    right += split.train->label(nearest) == split.test->label(index);
  }
  EXPECT_GT(right, 150) << "of 300; chance gives 30";
  EXPECT_LT(right, 285);
}

TEST(Synthetic, refuses_sizes_it_cannot_draw) {
  EXPECT_EQ(refusal_of([] { small({{"synthetic-size", "7"}}); }).code, ExitCode::kUsage);
  EXPECT_EQ(refusal_of([] { small({{"synthetic-size", "100000"}}); }).code, ExitCode::kUsage);
  EXPECT_EQ(refusal_of([] { small({{"synthetic-channels", "0"}}); }).code, ExitCode::kUsage);
  EXPECT_EQ(refusal_of([] { small({{"synthetic-channels", "17"}}); }).code, ExitCode::kUsage);
  EXPECT_EQ(refusal_of([] { small({{"synthetic-samples", "0"}}); }).code, ExitCode::kUsage);
}

TEST(Synthetic, draws_the_smallest_and_the_largest_size) {
  for (const char* size : {"8", "2048"}) {
    const DataSplit split = small({{"synthetic-size", size}, {"synthetic-channels", "16"}, {"synthetic-samples", "2"}});
    const Bytes pixels = pixels_of(*split.train, 1);
    EXPECT_NE(*std::max_element(pixels.begin(), pixels.end()), *std::min_element(pixels.begin(), pixels.end()));
  }
}

}  // namespace
}  // namespace eave
