// Estimates means and their uncertainty from a few runs. Values of different seeds are assumed to be normally
// distributed.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace eave {

// A mean with its two-sided 95 % interval by Student's t: mean +- t(0.975, n - 1) s / sqrt(n). s is the sample standard
// deviation, with divisor n - 1. A single value has no interval.
struct Estimate {
  std::size_t n = 0;
  double mean = 0;
  std::optional<double> low, high;
  double deviation = 0;  // s; 0 if n = 1
};

// Throws Error(kInternal) if there are no values.
Estimate estimate(const std::vector<double>& values);

// The difference a - b of two means by Welch's t-test. Equal variances are not assumed; degrees of freedom are
// Satterthwaite's.
struct Difference {
  double mean = 0;
  double low = 0, high = 0;  // 95 % interval
  // Two-sided: the probability of means at least so far apart if there is no true difference.
  double p = 1;
};

// Compares two estimates. Nothing if either has a single value, because its variation is then unknown. If neither
// varies at all, p is 1 for equal means, else 0.
std::optional<Difference> difference(const Estimate& a, const Estimate& b);

}  // namespace eave
