// Compares the rule of significance with scipy 1.17.1 (stats.ttest_rel, stats.ttest_ind with equal_var=False,
// stats.pearsonr), and says what it makes of crafted values.
#include "report/compare/significance.h"

#include <gtest/gtest.h>

#include <cmath>

namespace eave {
namespace {

const std::vector<std::string> kFive = {"1", "2", "3", "4", "5"};
const SeededValues kA{kFive, {.8931, .8912, .8950, .8925, .8940}};
const SeededValues kB{kFive, {.8889, .8871, .8902, .8880, .8899}};  // correlation with kA 0.98, p = 0.0015
const SeededValues kC{kFive, {.8890, .8930, .8901, .8936, .8893}};  // correlation with kA -0.69

TEST(Significance, pairs_seeds_that_rise_and_fall_together) {
  const Ranking ranking = rank_methods({kB, kA}, {});
  EXPECT_EQ(ranking.order, std::vector<std::size_t>({1, 0}));
  const Contrast& contrast = ranking.contrasts.at(0);
  EXPECT_TRUE(contrast.is_paired && contrast.is_apart && ranking.has_first());
  EXPECT_NEAR(contrast.effect, 0.00434, 1e-12);
  EXPECT_NEAR(contrast.low, 0.003961343371836032, 1e-12);
  EXPECT_NEAR(contrast.high, 0.0047186566281639435, 1e-12);
  EXPECT_NEAR(contrast.p, 5.8125210230026685e-06, 1e-12);
}

TEST(Significance, pairs_by_seed_whatever_the_order_of_the_runs) {
  SeededValues turned = kB;
  std::swap(turned.seeds[0], turned.seeds[4]);
  std::swap(turned.values[0], turned.values[4]);
  EXPECT_EQ(rank_methods({kA, turned}, {}).contrasts[0].p, rank_methods({kA, kB}, {}).contrasts[0].p);
}

TEST(Significance, takes_welchs_test_where_seeds_share_nothing) {
  const Contrast contrast = rank_methods({kA, kC}, {}).contrasts.at(0);
  EXPECT_FALSE(contrast.is_paired || contrast.is_apart);
  EXPECT_NEAR(contrast.effect, 0.00216, 1e-12);
  EXPECT_NEAR(contrast.low, -0.0005781534343115438, 1e-12);
  EXPECT_NEAR(contrast.high, 0.004898153434311423, 1e-12);
  EXPECT_NEAR(contrast.p, 0.10441055264440305, 1e-11);
  EXPECT_EQ(contrast.more_seeds, 8u);
}

struct Example {
  std::vector<double> a, b;
  double difference, low, high, p;
};

SeededValues with_seeds(const std::string& name, const std::vector<double>& values) {
  SeededValues seeded{{}, values};
  for (std::size_t i = 0; i < values.size(); ++i) seeded.seeds.push_back(name + std::to_string(i));
  return seeded;
}

TEST(Significance, agrees_with_scipy_on_welchs_test) {
  const std::vector<Example> examples = {
      {{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4},
       {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4},
       -2.166666666666668,
       -3.984096267140929,
       -0.3492370661924069,
       0.021378001462866992},
      {{.8931, .8912, .8950},
       {.8889, .8871, .8902, .8895},
       0.00417500000000004,
       0.0003674008833438264,
       0.007982599116656254,
       0.039048843799787125},
      {{1, 2}, {10, 12, 17.5}, -11.666666666666666, -20.76276708375547, -2.5705662495778636, 0.030196477900189554}};
  for (const Example& example : examples) {
    const SeededValues a = with_seeds("a", example.a), b = with_seeds("b", example.b);
    const Ranking ranking = rank_methods({a, b}, {.lower_is_better = example.difference < 0});
    ASSERT_EQ(ranking.order.front(), 0u);
    EXPECT_NEAR(ranking.contrasts[0].effect, example.difference, 1e-12);
    EXPECT_NEAR(ranking.contrasts[0].low, example.low, 1e-11);
    EXPECT_NEAR(ranking.contrasts[0].high, example.high, 1e-11);
    EXPECT_NEAR(ranking.contrasts[0].p, example.p, 1e-12);
  }
}

// With equal scatter and two values each, Welch's test has 2 degrees of freedom, and p = 1 - t / sqrt(2 + t^2).
TEST(Significance, has_the_closed_form_of_two_degrees_of_freedom) {
  const Ranking ranking = rank_methods({with_seeds("a", {4, 6}), with_seeds("b", {0, 2})}, {});
  const double t = 4 / std::sqrt(2.0);
  EXPECT_NEAR(ranking.contrasts.at(0).p, 1 - t / std::sqrt(2 + t * t), 1e-12);
}

TEST(Significance, takes_welchs_test_where_seeds_differ_or_stand_there_twice) {
  SeededValues other = kB;
  other.seeds[0] = "9";
  EXPECT_FALSE(rank_methods({kA, other}, {}).contrasts.at(0).is_paired);
  other.seeds[0] = "2";
  EXPECT_FALSE(rank_methods({kA, other}, {}).contrasts.at(0).is_paired);
}

TEST(Significance, compares_durations_by_their_ratio) {
  const SeededValues x{{"1", "2", "3"}, {10, 11, 12.5}}, y{{"1", "2", "3", "4"}, {14, 16.5, 15, 17}};
  const Ranking ranking = rank_methods({x, y}, {.lower_is_better = true, .is_ratio = true});
  EXPECT_EQ(ranking.order.front(), 0u);
  EXPECT_NEAR(ranking.contrasts[0].effect, 0.7137775090204576, 1e-12);
  EXPECT_NEAR(ranking.contrasts[0].low, 0.57109531, 1e-8);
  EXPECT_NEAR(ranking.contrasts[0].high, 0.89210736, 1e-8);
  EXPECT_NEAR(ranking.contrasts[0].p, 0.0143322862868706, 1e-12);
}

// The three pairs of three methods: the smallest p counts three times, and the interval has the level 1 - 0.05 / 3.
// After that one pair at most can be without a difference, so the next p counts once.
TEST(Significance, corrects_for_all_pairs_of_methods) {
  const Ranking ranking = rank_methods({kA, kB, kC}, {});
  EXPECT_EQ(ranking.order, std::vector<std::size_t>({0, 2, 1}));
  EXPECT_NEAR(ranking.contrasts[1].p, 1.7437563069008007e-05, 1e-12);
  EXPECT_NEAR(ranking.contrasts[1].low, 0.0037998207428501215, 1e-12);
  EXPECT_NEAR(ranking.contrasts[0].p, 0.10441055264440305, 1e-11);
  EXPECT_NEAR(ranking.contrasts[0].low, -0.0005781534343115438, 1e-12);
  EXPECT_TRUE(ranking.contrasts[1].is_apart);
  EXPECT_FALSE(ranking.contrasts[0].is_apart || ranking.has_first());
}

// Both p are below 0.05. The smaller one, 0.03, is not below 0.05 / 3, so the other may not count either, and its
// interval says the same.
TEST(Significance, gives_each_contrast_an_interval_that_agrees_with_its_p) {
  for (double shift = 0; shift < 0.01; shift += 0.0001) {
    SeededValues b = kC, c = kC;
    for (double& value : b.values) value -= shift;
    for (double& value : c.values) value -= shift / 2;
    for (const Contrast& contrast : rank_methods({kA, b, c}, {}).contrasts) {
      EXPECT_EQ(contrast.is_apart, contrast.low > 0 || contrast.high < 0) << shift;
      EXPECT_EQ(contrast.is_apart, contrast.p <= 0.05) << shift;
      EXPECT_TRUE(contrast.is_apart || contrast.more_seeds) << shift;
    }
  }
}

// The mean of ten equal logarithms differs from that of two in the last bit.
TEST(Significance, does_not_tell_equal_values_apart) {
  for (const double value : {50.0, 1e8, 0.3, 1.0}) {
    for (const bool is_ratio : {false, true}) {
      const SeededValues few = with_seeds("", {value, value});
      const Ranking ranking =
          rank_methods({few, with_seeds("", std::vector<double>(10, value))}, {.is_ratio = is_ratio});
      EXPECT_FALSE(ranking.has_first()) << value;
      EXPECT_EQ(ranking.contrasts.at(0).p, 1) << value;
      EXPECT_EQ(ranking.contrasts.at(0).effect, is_ratio ? 1 : 0) << value;
    }
  }
  EXPECT_TRUE(rank_methods({with_seeds("", {50, 50}), with_seeds("", {50.001, 50.001})}, {}).has_first());
}

TEST(Significance, knows_nothing_of_single_runs) {
  const Ranking ranking = rank_methods({{{"1"}, {0.9}}, kB}, {});
  EXPECT_EQ(ranking.order.front(), 0u);
  EXPECT_FALSE(ranking.contrasts.at(0).is_known || ranking.has_first());
  EXPECT_FALSE(rank_methods({kA}, {}).has_first());
  EXPECT_TRUE(rank_methods({{}, {}}, {}).order.empty());
}

TEST(Significance, of_equal_values_names_nobody_and_no_number_of_seeds) {
  const Ranking ranking = rank_methods({kA, kA}, {});
  EXPECT_FALSE(ranking.has_first());
  EXPECT_EQ(ranking.contrasts[0].p, 1);
  EXPECT_FALSE(ranking.contrasts[0].more_seeds);
}

// Two seeds each had 80 and 81 of 100 samples right. One sample more is no proof.
TEST(Significance, does_not_take_equal_counts_of_samples_for_certainty) {
  const SeededValues a{{"1", "2"}, {0.81, 0.81}}, b{{"1", "2"}, {0.80, 0.80}};
  EXPECT_FALSE(rank_methods({a, b}, {.resolution = 0.01}).has_first());
  EXPECT_TRUE(rank_methods({a, b}, {}).has_first());
}

TEST(Significance, ranks_nothing_by_values_that_are_no_numbers) {
  const SeededValues broken{{"1", "2"}, {std::nan(""), 1}}, zero{{"1", "2"}, {0, 1}};
  EXPECT_TRUE(rank_methods({broken, kA}, {}).order.empty());
  EXPECT_TRUE(rank_methods({zero, kA}, {.is_ratio = true}).order.empty());
}

TEST(BySeed, takes_the_mean_over_the_runs_of_a_seed_and_counts_unknown_seeds_each) {
  const SeededValues means = by_seed({{"2", "1", "", "2", ""}, {4, 7, 5, 2, 6}});
  EXPECT_EQ(means.seeds, (std::vector<std::string>{"2", "1", "", ""}));
  EXPECT_EQ(means.values, (std::vector<double>{3, 7, 5, 6}));
}

}  // namespace
}  // namespace eave
