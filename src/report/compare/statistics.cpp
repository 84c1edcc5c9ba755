#include "report/compare/statistics.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

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

double squared_error(const Estimate& value) { return value.deviation * value.deviation / static_cast<double>(value.n); }

double degrees_of_freedom(const Estimate& a, const Estimate& b) {
  const double of_a = squared_error(a), of_b = squared_error(b);
  return (of_a + of_b) * (of_a + of_b) /
         (of_a * of_a / static_cast<double>(a.n - 1) + of_b * of_b / static_cast<double>(b.n - 1));
}

}  // namespace

Estimate estimate(const std::vector<double>& values) {
  EAVE_CHECK(!values.empty(), "no values to take the mean of");
  Estimate result;
  result.n = values.size();
  const auto n = static_cast<double>(result.n);
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (result.n == 1) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (n - 1));
  const double half = quantile(complement(StudentsT(n - 1), kTail)) * result.deviation / std::sqrt(n);
  result.low = result.mean - half;
  result.high = result.mean + half;
  return result;
}

std::optional<Difference> difference(const Estimate& a, const Estimate& b) {
  if (a.n < 2 || b.n < 2) return std::nullopt;
  Difference result;
  result.mean = result.low = result.high = a.mean - b.mean;
  const double error = std::sqrt(squared_error(a) + squared_error(b));
  if (error == 0) {
    result.p = result.mean == 0 ? 1 : 0;
    return result;
  }
  const StudentsT distribution(degrees_of_freedom(a, b));
  const double half = quantile(complement(distribution, kTail)) * error;
  result.low -= half;
  result.high += half;
  result.p = 2 * cdf(complement(distribution, std::abs(result.mean) / error));
  return result;
}

}  // namespace eave
