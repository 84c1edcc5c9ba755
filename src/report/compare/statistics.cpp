#include "report/compare/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

using boost::math::complement;
using boost::math::quantile;

// The type is double because Boost fills tables for long double at program start, which valgrind cannot run.
using StudentsT =
    boost::math::students_t_distribution<double,
                                         boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

constexpr double kTail = 0.025;  // on each side of a 95 % interval

// With divisor n - 1.
double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Half of the interval of the mean of these values.
double half_width(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  return quantile(complement(StudentsT(n - 1), kTail)) * deviation_of(values) / std::sqrt(n);
}

std::vector<double> logarithms_of(const std::vector<double>& values) {
  std::vector<double> logarithms;
  for (const double value : values) logarithms.push_back(std::log(value));
  return logarithms;
}

// The squared standard error of a mean, and its degrees of freedom.
struct SquaredError {
  double square = 0, freedom = 0;
};

SquaredError squared_error_of(const std::vector<double>& values) {
  const double deviation = deviation_of(values);
  return {deviation * deviation / static_cast<double>(values.size()), static_cast<double>(values.size() - 1)};
}

// Half of Welch's interval of the difference of two means.
double half_width(const SquaredError& a, const SquaredError& b) {
  const double square = a.square + b.square;
  if (square == 0) return 0;
  const double freedom = square * square / (a.square * a.square / a.freedom + b.square * b.square / b.freedom);
  return quantile(complement(StudentsT(freedom), kTail)) * std::sqrt(square);
}

constexpr double kWidestLogarithm = 300;  // exp of it is finite

bool are_positive(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; });
}

}  // namespace

Estimate estimate(const std::vector<double>& values, ValueRange range) {
  EAVE_CHECK(!values.empty(), "no values to take the mean of");
  Estimate result;
  result.n = values.size();
  result.values = values;
  result.mean = mean_of(values);
  if (result.n == 1) return result;
  result.deviation = deviation_of(values);
  const bool is_above_zero = range != ValueRange::kAny && range != ValueRange::kShare;
  if (is_above_zero && are_positive(values) && result.deviation > 0) {
    const std::vector<double> logarithms = logarithms_of(values);
    if (range == ValueRange::kPositive) result.mean = std::exp(mean_of(logarithms));
    const double factor = std::exp(std::min(half_width(logarithms), kWidestLogarithm));
    // The interval of exp(loss) is exp of the loss's, of which the part below a loss of 0 is impossible.
    const double least = range == ValueRange::kFromOne ? std::min(1.0, result.mean) : 0;
    result.low = std::max(result.mean / factor, least);
    result.high = result.mean * factor;
    return result;
  }
  const double half = half_width(values);
  result.low = range == ValueRange::kAny ? result.mean - half : std::max(result.mean - half, 0.0);
  result.high = range == ValueRange::kShare ? std::min(result.mean + half, 1.0) : result.mean + half;
  return result;
}

Estimate ratio_of(const Estimate& value, const Estimate& base) {
  Estimate ratio = in_units_of(base.mean, value);
  ratio.low = ratio.high = std::nullopt;
  if (value.n < 2 || base.n < 2 || !are_positive(value.values) || !are_positive(base.values)) return ratio;
  const SquaredError of_value = squared_error_of(logarithms_of(value.values)),
                     of_base = squared_error_of(logarithms_of(base.values));
  const double factor = std::exp(std::min(half_width(of_value, of_base), kWidestLogarithm));
  ratio.low = ratio.mean / factor;
  ratio.high = ratio.mean * factor;
  return ratio;
}

Estimate in_units_of(double unit, Estimate estimate) {
  estimate.mean /= unit;
  estimate.deviation /= unit;
  for (std::optional<double>* bound : {&estimate.low, &estimate.high})
    if (*bound) **bound /= unit;
  for (double& value : estimate.values) value /= unit;
  return estimate;
}

}  // namespace eave
