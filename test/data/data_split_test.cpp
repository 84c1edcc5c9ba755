// hold_out sets a share of the training set apart for evaluation; hash_identity tells datasets apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "eave/check.h"
#include "eave/dataset.h"
#include "test/data/data_files.h"

namespace eave {
namespace {

// A dataset in which the two pixels of a sample hold its number.
class Numbered final : public SmallDataset {
 public:
  explicit Numbered(std::int64_t size) : SmallDataset(size, {1, 2, 1}, 10) {}
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    pixels[0] = static_cast<std::uint8_t>(index / 256);
    pixels[1] = static_cast<std::uint8_t>(index % 256);
  }
};

DataSplit split_of(std::int64_t size) {
  DataSplit split;
  split.train = std::make_unique<Numbered>(size);
  split.test = std::make_unique<Numbered>(5);
  return split;
}

std::vector<int> numbers_in(const Dataset& dataset) {
  std::vector<int> numbers;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const Bytes pixels = pixels_of(dataset, i);
    numbers.push_back(256 * pixels[0] + pixels[1]);
    EXPECT_EQ(dataset.label(i), numbers.back() % 10);
  }
  return numbers;
}

TEST(HoldOut, parts_the_training_set_without_loss) {
  DataSplit split = split_of(1000);
  hold_out(split, 0.1);
  const std::vector<int> train = numbers_in(*split.train), held = numbers_in(*split.validation);
  EXPECT_EQ(train.size(), 900u);
  EXPECT_EQ(held.size(), 100u);
  EXPECT_EQ(split.test->size(), 5);
  std::set<int> all(train.begin(), train.end());
  all.insert(held.begin(), held.end());
  EXPECT_EQ(all.size(), 1000u);
}

// The choice does not depend on a run's seed, so that runs with different seeds are compared on the same samples.
TEST(HoldOut, draws_the_same_samples_each_time_and_not_the_first_ones) {
  DataSplit one = split_of(1000), another = split_of(1000);
  hold_out(one, 0.1);
  hold_out(another, 0.1);
  const std::vector<int> held = numbers_in(*one.validation);
  EXPECT_EQ(held, numbers_in(*another.validation));
  const auto below = std::ranges::count_if(held, [](int number) { return number < 500; });
  EXPECT_GT(below, 25);
  EXPECT_LT(below, 75);
}

TEST(HoldOut, refuses_a_share_that_leaves_nothing_in_a_part) {
  for (const double share : {0.0, 1.0, -0.1, 2.0, 1e-9, 0.99999}) {
    DataSplit split = split_of(100);
    EXPECT_THROW(hold_out(split, share), Error) << share;
  }
}

TEST(Identity, tells_sets_of_the_same_size_apart_by_labels_names_and_parts) {
  const auto identity = [](DataSplit split, const std::vector<std::string>& names = {}) {
    split.class_names = names;
    hash_identity(split);
    return split.identity;
  };
  const std::string plain = identity(split_of(20));
  EXPECT_EQ(plain, identity(split_of(20)));
  EXPECT_NE(plain, identity(split_of(21)));
  DataSplit held = split_of(20);
  hold_out(held, 0.25);
  EXPECT_NE(plain, identity(std::move(held)));
  EXPECT_NE(identity(split_of(20), {"a", "bc"}), identity(split_of(20), {"ab", "c"}));
  DataSplit other_files = split_of(20);
  other_files.identity = "of other names";
  EXPECT_NE(plain, identity(std::move(other_files)));
}

}  // namespace
}  // namespace eave
