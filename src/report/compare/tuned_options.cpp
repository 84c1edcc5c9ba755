#include "report/compare/tuned_options.h"

#include <algorithm>
#include <cmath>

#include "base/options/number_text.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr double kMostMomentum = 0.9999;
constexpr double kLeastStep = 1.02;  // a value nearer than this to the last one says nothing new

// From `last` one step away from its neighbour.
double step_out(const TunedOption& option, double last, double neighbour) {
  if (option.value == TunedValue::kMomentum) return 1 - (1 - last) * (1 - last) / (1 - neighbour);
  return last * last / neighbour;
}

double whole(double value, double last) {
  const double rounded = std::round(value);
  if (rounded != last) return std::max(rounded, 1.0);
  return value < last ? last - 1 : last + 1;
}

}  // namespace

const std::vector<TunedOption>& tuned_options() {
  static const std::vector<TunedOption> kOptions = {{"tau", TunedValue::kWhole},
                                                    {"alpha", TunedValue::kPull},
                                                    {"rho", TunedValue::kFactor},
                                                    {"outer-rate", TunedValue::kFactor},
                                                    {"block-rate", TunedValue::kFactor},
                                                    {"slowmo-rate", TunedValue::kFactor},
                                                    {"outer-momentum", TunedValue::kMomentum},
                                                    {"block-momentum", TunedValue::kMomentum},
                                                    {"slowmo-momentum", TunedValue::kMomentum},
                                                    {"center-momentum", TunedValue::kMomentum}};
  return kOptions;
}

bool is_last_value(const TunedOption& option, double value, bool upwards) {
  if (upwards) return false;
  return (option.value == TunedValue::kWhole && value <= 1) || (option.value == TunedValue::kMomentum && value <= 0);
}

std::string value_beyond(const TunedOption& option, std::vector<double> tried, double chosen, double bound) {
  std::ranges::sort(tried);
  tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
  if (tried.size() < 2) return "";
  const bool upwards = chosen == tried.back();
  if (!upwards && chosen != tried.front()) return "";
  if (is_last_value(option, chosen, upwards)) return "";
  double next = step_out(option, chosen, upwards ? tried[tried.size() - 2] : tried[1]);
  if (!std::isfinite(next)) return "";
  if (option.value == TunedValue::kWhole) return format("%.0f", whole(next, chosen));
  if (option.value == TunedValue::kMomentum) {
    next = std::max(next, 0.0);
    return next == chosen || next >= kMostMomentum ? "" : format("%.4g", next);
  }
  if (option.value == TunedValue::kPull && next >= bound) next = (chosen + bound) / 2;
  const bool is_out =
      upwards ? next > chosen * kLeastStep && (option.value != TunedValue::kPull || next < bound) : next > 0;
  return is_out ? format("%.3g", next) : "";
}

}  // namespace eave
