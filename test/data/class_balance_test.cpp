// Class histograms of ranks' shards, and the warning about classes that are unevenly distributed.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "eave/random.h"
#include "test/data/data_files.h"

namespace eave {
namespace {

using Histogram = std::vector<std::int64_t>;

class Labels : public Dataset {
 public:
  explicit Labels(std::vector<std::int32_t> labels) : labels_(std::move(labels)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  ImageShape shape() const override { return {1, 1, 1}; }
  int classes() const override { return 10; }
  std::int32_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  void read(std::int64_t, std::span<std::uint8_t> pixels) const override { pixels[0] = 0; }

 private:
  std::vector<std::int32_t> labels_;
};

Labels cycling_labels(std::int64_t size) {
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < size; ++i) labels.push_back(static_cast<std::int32_t>(i % 10));
  return Labels(labels);
}

TEST(ClassHistogram, counts_of_all_ranks_add_up_to_the_set) {
  const Labels dataset = cycling_labels(105);
  Sampler sampler(Sampling::kShard, 105, 4, 3, 1, {});
  Histogram sum(10);
  for (int rank = 0; rank < 4; ++rank) {
    const Histogram part = class_histogram(dataset, sampler, 2, rank);
    for (std::size_t klass = 0; klass < 10; ++klass) sum[klass] += part[klass];
  }
  EXPECT_EQ(sum, (Histogram{11, 11, 11, 11, 11, 10, 10, 10, 10, 10}));
}

TEST(ClassHistogram, whole_counts_the_draws_of_one_epoch) {
  const Labels dataset = cycling_labels(1000);
  Sampler sampler(Sampling::kWhole, 1000, 4, 10, 1, {});
  const Histogram part = class_histogram(dataset, sampler, 0, 3);
  EXPECT_EQ(std::accumulate(part.begin(), part.end(), std::int64_t{0}), 250);
}

TEST(DescribeImbalance, is_silent_on_random_shards_of_any_size) {
  for (const std::int64_t size : {10, 60, 500, 3000, 20000}) {
    const Labels dataset = cycling_labels(size);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      Sampler sampler(Sampling::kShard, size, 4, 5, seed, {});
      const Histogram part = class_histogram(dataset, sampler, 0, 2);
      ASSERT_EQ(describe_imbalance(part, Histogram(10, size / 10), 2), "") << size << " samples, seed " << seed;
    }
  }
}

// The classes are long-tailed. Rare classes would give a plain chi-square test false alarms.
TEST(DescribeImbalance, is_silent_on_random_draws_from_rare_classes) {
  Histogram all(100);
  for (std::size_t klass = 0; klass < all.size(); ++klass) all[klass] = static_cast<std::int64_t>(20000 >> (klass / 6));
  const std::int64_t total = std::accumulate(all.begin(), all.end(), std::int64_t{0});
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RandomStream random({seed, Purpose::kTest, 0}, 0);
    Histogram part(100);
    for (int draw = 0; draw < 2000; ++draw) {
      std::int64_t place = random.below(static_cast<std::uint32_t>(total));
      std::size_t klass = 0;
      while (place >= all[klass]) place -= all[klass++];
      ++part[klass];
    }
    ASSERT_EQ(describe_imbalance(part, all, 0), "") << "seed " << seed;
  }
}

TEST(DescribeImbalance, is_silent_on_a_set_that_is_uneven_itself) {
  EXPECT_EQ(describe_imbalance({900, 90, 10}, {9000, 900, 100}, 0), "");
}

TEST(DescribeImbalance, names_rank_class_share_and_global_share_of_a_sorted_shard) {
  const std::string text = describe_imbalance({0, 0, 0, 500, 250}, {1000, 1000, 1000, 1000, 1000}, 3);
  EXPECT_NE(text.find("rank 3"), std::string::npos) << text;
  EXPECT_NE(text.find("class 3 is 66.7 % of its 750 samples, 20.0 % of all"), std::string::npos) << text;
}

TEST(DescribeImbalance, fires_when_one_class_is_missing_or_doubled) {
  EXPECT_NE(describe_imbalance({0, 300, 300, 300}, {1000, 1000, 1000, 1000}, 0), "");
  EXPECT_NE(describe_imbalance({600, 300, 300, 300}, {1000, 1000, 1000, 1000}, 0), "");
}

TEST(DescribeImbalance, is_silent_where_nothing_can_be_told) {
  EXPECT_EQ(describe_imbalance({0, 0}, {5, 5}, 0), "");
  EXPECT_EQ(describe_imbalance({2, 0}, {5, 5}, 0), "");
  EXPECT_EQ(describe_imbalance({100}, {400}, 0), "");
}

// 1 % more of one class among millions of samples is a real difference, but a harmless one.
TEST(DescribeImbalance, is_silent_on_differences_too_small_to_matter) {
  EXPECT_EQ(describe_imbalance({1010000, 1000000}, {10000000, 10000000}, 0), "");
}

}  // namespace
}  // namespace eave
