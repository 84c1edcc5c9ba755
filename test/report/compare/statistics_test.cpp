// Compares the statistics with scipy 1.17.1 (stats.t.interval), with the closed
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

// Both have standard error 0.1 on the logarithms, so Welch's t-test has two degrees of freedom.
TEST(Ratio, has_the_scatter_of_both_means) {
  const std::vector<double> base = {std::exp(-0.1), std::exp(0.1)}, value = {2 * base[0], 2 * base[1]};
  const Estimate ratio = ratio_of(estimate(value), estimate(base));
  const double quantile = (2 * 0.975 - 1) / std::sqrt(2 * 0.975 * 0.025);
  EXPECT_DOUBLE_EQ(ratio.mean, 2);
  EXPECT_NEAR(*ratio.low, 2 / std::exp(quantile * std::sqrt(0.02)), 1e-12);
  EXPECT_NEAR(*ratio.high, 2 * std::exp(quantile * std::sqrt(0.02)), 1e-12);
}

TEST(Ratio, has_no_interval_if_either_has_one_value) {
  for (const Estimate& ratio : {ratio_of(estimate({2, 3}), estimate({1})), ratio_of(estimate({2}), estimate({1, 2}))})
    EXPECT_FALSE(ratio.low || ratio.high);
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

// The logarithms of 1 and 100 have mean log 10 and standard error log 10, so the factor is 10^t(0.975, 1).
TEST(Estimate, of_values_above_0_has_an_interval_that_never_reaches_0) {
  const Estimate value = estimate({1, 100}, ValueRange::kPositive);
  EXPECT_NEAR(value.mean, 10, 1e-12);
  const double factor = std::pow(10, std::tan(kPi * 0.475));
  EXPECT_NEAR(*value.high / 10 / factor, 1, 1e-12);
  EXPECT_NEAR(*value.low * factor / 10, 1, 1e-12);
  EXPECT_GT(*value.low, 0);
}

// Curves of the page show the arithmetic mean of losses.
TEST(Estimate, of_losses_has_the_arithmetic_mean) {
  const Estimate value = estimate({1, 100}, ValueRange::kLoss);
  EXPECT_EQ(value.mean, 50.5);
  EXPECT_GT(*value.low, 0);
}

TEST(Estimate, of_equal_values_above_0_is_exactly_their_value) {
  EXPECT_EQ(estimate({60000, 60000, 60000}, ValueRange::kPositive).mean, 60000);
}

// The interval of 1 and 100 would begin at 0.0...; exp of a loss is never below 1.
TEST(Estimate, of_values_from_1_up_is_cut_at_1) {
  const Estimate usual = estimate({1, 100}, ValueRange::kPositive), cut = estimate({1, 100}, ValueRange::kFromOne);
  EXPECT_LT(*usual.low, 1);
  EXPECT_EQ(*cut.low, 1);
  EXPECT_EQ(cut.mean, 50.5);
  EXPECT_NEAR(*cut.high / cut.mean, *usual.high / usual.mean, 1e-9 * *cut.high);
  EXPECT_GT(*estimate({50, 60}, ValueRange::kFromOne).low, 1);
}

TEST(Estimate, of_values_that_may_be_0_has_no_interval_below_0) {
  EXPECT_EQ(estimate({0, 1}, ValueRange::kPositive).low, 0);
  EXPECT_EQ(estimate({0, 0}, ValueRange::kPositive).high, 0);
}

TEST(Estimate, of_a_share_ends_at_0_and_1) {
  const Estimate value = estimate({0.1, 0.95}, ValueRange::kShare);
  EXPECT_EQ(value.low, 0);
  EXPECT_EQ(value.high, 1);
}

}  // namespace
}  // namespace eave
