// What a few runs say of many: means with their uncertainty. Normal scatter between seeds is assumed.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace eave {

// A mean with its two-sided 95 % interval by Student's t, mean +- t(0.975, n - 1) s / sqrt(n), where s is the sample
// standard deviation (n - 1). One value has no interval.
struct Estimate {
  std::size_t n = 0;
  double mean = 0;
  std::optional<double> low, high;
  double deviation = 0;  // s; 0 where n = 1
};

// Throws Error(kInternal) where there are no values.
Estimate estimate(const std::vector<double>& values);

// The difference a - b of two means by Welch's t: no equal variances assumed, degrees of freedom by Satterthwaite.
struct Difference {
  double mean = 0;
  double low = 0, high = 0;  // 95 % interval
  double p = 1;              // two-sided: how often means so far apart come about where there is no difference
};

// Nothing where either has one value only: then nothing is known of the scatter. Where neither scatters at all, p is 1
// for equal means, else 0.
std::optional<Difference> difference(const Estimate& a, const Estimate& b);

}  // namespace eave
