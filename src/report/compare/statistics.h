// Estimates means and their uncertainty from a few runs. Values of different seeds are assumed to be normally
// distributed.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace eave {

// The range of values: anything, a share from 0 to 1, above 0 and compared by their ratio (durations, rates, bytes), a
// loss above 0, or at least 1 (exp of a loss).
enum class ValueRange { kAny, kShare, kPositive, kLoss, kFromOne };

// A mean with its two-sided 95 % interval by Student's t: mean +- t(0.975, n - 1) s / sqrt(n). s is the sample standard
// deviation, with divisor n - 1. A single value has no interval. The interval of a share ends at 0 and 1. That of
// values above 0 is computed from their logarithms, so that it never reaches 0: mean / f to mean * f. That of values
// from 1 up is the same, cut at 1. The mean of kPositive is the geometric one, exp of the mean of the logarithms,
// because rank_methods compares means of logarithms.
struct Estimate {
  std::size_t n = 0;
  double mean = 0;
  std::optional<double> low, high;
  double deviation = 0;  // s; 0 if n = 1
  std::vector<double> values = {};
};

// Throws Error(kInternal) if there are no values.
Estimate estimate(const std::vector<double>& values, ValueRange range = ValueRange::kAny);

// The ratio of two means of values above 0. Its two-sided 95 % interval is Welch's, computed from the logarithms, so it
// contains the scatter of both. There is none if one of both has a single value.
Estimate ratio_of(const Estimate& value, const Estimate& base);

// The same estimate in a unit of this size.
Estimate in_units_of(double unit, Estimate estimate);

}  // namespace eave
