// How the sentences and tables of a report write the numbers of one measure.
#pragma once

#include <string>
#include <vector>

#include "report/compare/statistics.h"
#include "report/record/metric.h"

namespace eave {

struct NumberStyle {
  double factor = 1;
  int decimals = 0;
  std::string text(double value) const;
  // An end of the interval of `value`. A few seeds may leave one that is off by more digits than anybody reads: an end
  // beyond a thousand times the power of ten of `value`, or a positive one below a thousandth of it, is
  // "more than 1000" or "less than 0.001".
  std::string end_text(double end, double value) const;
  // The same style, with more decimals if these would round one of `sizes` to 0: then with two figures of it. `sizes`
  // are half widths of intervals, or leads. Those beyond the eighth figure of `value` do not count: they may come from
  // rounding.
  NumberStyle showing(const std::vector<double>& sizes, double value) const;
};

inline constexpr NumberStyle kPercent = {100, 2};
inline constexpr NumberStyle kTimes = {1, 2};

// Percent with two decimals for accuracy, otherwise the four significant digits of a value like `like`.
NumberStyle style_of(const Metric& metric, double like);

// One decimal, or two significant digits of a duration below 1 s.
NumberStyle style_of_seconds(double like);

// The half width of the interval; 0 if there is none.
double half_of(const Estimate& value);

}  // namespace eave
