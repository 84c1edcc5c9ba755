#include "report/compare/number_style.h"

#include <algorithm>
#include <cmath>

#include "base/options/quantities.h"

namespace eave {
namespace {

int magnitude_of(double value) { return value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value)))); }

}  // namespace

std::string NumberStyle::text(double value) const { return decimal_text(factor * value, decimals); }

std::string NumberStyle::end_text(double end, double value) const {
  constexpr int kFar = 3;  // powers of ten
  if (!(value > 0) || !std::isfinite(value) || !(end > 0)) return text(end);
  const int magnitude = magnitude_of(factor * value);
  const auto limit = [&](int power) { return decimal_text(std::pow(10, power), std::max(0, -power)); };
  if (factor * end > std::pow(10, magnitude + kFar)) return "more than " + limit(magnitude + kFar);
  if (factor * end < std::pow(10, magnitude - kFar)) return "less than " + limit(magnitude - kFar);
  return text(end);
}

NumberStyle NumberStyle::showing(const std::vector<double>& sizes, double value) const {
  constexpr int kFigures = 8;
  const int most = kFigures - 1 - magnitude_of(factor * value);
  NumberStyle style = *this;
  for (const double size : sizes) {
    const double scaled = std::abs(factor * size);
    if (!(scaled > 0) || scaled >= std::pow(10, -decimals) / 2) continue;
    const int needed = 1 - magnitude_of(scaled);
    if (needed <= most) style.decimals = std::max(style.decimals, needed);
  }
  return style;
}

NumberStyle style_of(const Metric& metric, double like) {
  if (is_accuracy(metric)) return kPercent;
  return {1, std::clamp(3 - magnitude_of(like), 0, 9)};
}

NumberStyle style_of_seconds(double like) { return {1, std::clamp(1 - magnitude_of(like), 1, 9)}; }

double half_of(const Estimate& value) { return value.low ? (*value.high - *value.low) / 2 : 0; }

}  // namespace eave
