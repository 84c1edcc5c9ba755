// Compares the statistics with scipy 1.17.1 (stats.t.interval, stats.ttest_ind with equal_var=False), with the closed
// forms of the t distribution with 1 and 2 degrees of freedom, and with the integral of its density.
#include "report/compare/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace eave {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Integrates the density of the t distribution with v degrees of freedom from 0 to t by Simpson's rule.
double central_half(double t, double v) {
  const double height = std::exp(std::lgamma((v + 1) / 2) - std::lgamma(v / 2)) / std::sqrt(v * kPi);
  const auto density = [&](double x) { return height * std::pow(1 + x * x / v, -(v + 1) / 2); };
  constexpr int kParts = 20000;
  const double width = t / kParts;
  double sum = density(0) + density(t);
  for (int i = 1; i < kParts; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(i * width);
  return sum * width / 3;
}

// The two values 1 - x and 1 + x have mean 1 and standard error x. So the interval is t(0.975, 1) x wide to each side.
TEST(Estimate, of_two_values_has_the_interval_of_the_cauchy_distribution) {
  const Estimate value = estimate({0.5, 1.5});
  EXPECT_EQ(value.mean, 1);
  EXPECT_NEAR(*value.high - value.mean, 0.5 * std::tan(kPi * 0.475), 1e-12);
  EXPECT_NEAR(*value.low + *value.high, 2, 1e-12);
}

TEST(Estimate, of_three_values_has_the_closed_form_of_two_degrees_of_freedom) {
  const Estimate value = estimate({1, 2, 3});
  const double quantile = (2 * 0.975 - 1) / std::sqrt(2 * 0.975 * 0.025);
  EXPECT_NEAR(*value.high - 2, quantile / std::sqrt(3.0), 1e-12);
}

TEST(Estimate, agrees_with_scipy) {
  const Estimate value = estimate({0.8931, 0.8912, 0.8950});
  EXPECT_NEAR(value.mean, 0.8931, 1e-15);
  EXPECT_NEAR(value.deviation, 0.0019, 1e-15);
  EXPECT_NEAR(*value.low, 0.8883801383476744, 1e-14);
  EXPECT_NEAR(*value.high, 0.8978198616523256, 1e-14);
}

TEST(Estimate, of_one_value_has_no_interval) {
  const Estimate value = estimate({0.9});
  EXPECT_EQ(value.n, 1u);
  EXPECT_EQ(value.mean, 0.9);
  EXPECT_FALSE(value.low || value.high);
}

TEST(Estimate, covers_95_percent_of_the_density) {
  for (const int n : {2, 3, 4, 5, 10, 30}) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(i % 3);
    const Estimate value = estimate(values);
    const double t = (*value.high - value.mean) / (value.deviation / std::sqrt(n));
    EXPECT_NEAR(2 * central_half(t, n - 1), 0.95, 1e-9) << n;
  }
}

struct Example {
  std::vector<double> a, b;
  double difference, low, high, p;
};

TEST(Difference, agrees_with_scipy) {
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
    const auto found = difference(estimate(example.a), estimate(example.b));
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->mean, example.difference, 1e-12);
    EXPECT_NEAR(found->low, example.low, 1e-11);
    EXPECT_NEAR(found->high, example.high, 1e-11);
    EXPECT_NEAR(found->p, example.p, 1e-12);
  }
}

// With equal scatter and two values each, Welch's test has 2 degrees of freedom, and p = 1 - t / sqrt(2 + t^2).
TEST(Difference, has_the_closed_form_of_two_degrees_of_freedom) {
  const auto found = difference(estimate({4, 6}), estimate({0, 2}));
  const double t = 4 / std::sqrt(2.0);
  EXPECT_NEAR(found->p, 1 - t / std::sqrt(2 + t * t), 1e-12);
}

TEST(Difference, p_is_the_integral_of_both_tails) {
  const Estimate a = estimate({5, 6, 7, 9}), b = estimate({1, 2, 6});
  const double of_a = a.deviation * a.deviation / 4, of_b = b.deviation * b.deviation / 3;
  const double v = (of_a + of_b) * (of_a + of_b) / (of_a * of_a / 3 + of_b * of_b / 2);
  const double t = (a.mean - b.mean) / std::sqrt(of_a + of_b);
  EXPECT_NEAR(difference(a, b)->p, 1 - 2 * central_half(t, v), 1e-9);
}

TEST(Difference, changes_its_sign_and_nothing_else_when_the_two_are_exchanged) {
  const Estimate a = estimate({1, 2, 4}), b = estimate({3, 3.5, 7, 8});
  const auto forth = difference(a, b), back = difference(b, a);
  EXPECT_EQ(forth->mean, -back->mean);
  EXPECT_EQ(forth->low, -back->high);
  EXPECT_EQ(forth->p, back->p);
}

TEST(Difference, is_unknown_where_one_of_the_two_is_a_single_value) {
  EXPECT_FALSE(difference(estimate({1}), estimate({2, 3})));
  EXPECT_FALSE(difference(estimate({2, 3}), estimate({1})));
}

TEST(Difference, of_values_without_scatter_is_certain) {
  EXPECT_EQ(difference(estimate({1, 1}), estimate({1, 1, 1}))->p, 1);
  EXPECT_EQ(difference(estimate({2, 2}), estimate({1, 1}))->p, 0);
}

}  // namespace
}  // namespace eave
