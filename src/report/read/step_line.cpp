#include "report/read/step_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "report/read/field_checks.h"

namespace eave {
namespace {

constexpr std::string_view kBegin = "{\"type\":\"step\"";
constexpr std::array<std::string_view, StepLine::kFields> kNames = {
    "rank",    "step",      "samples",    "epoch",   "loss",    "learning_rate",
    "seconds", "computing", "exchanging", "waiting", "loading", "bytes"};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_number(std::string_view& text, double& value) {
  if (take(text, "null")) {
    value = kNone;
    return true;
  }
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return true;
}

}  // namespace

std::optional<StepLine> step_line(std::string_view text) {
  if (!take(text, kBegin)) return std::nullopt;
  StepLine line;
  for (std::size_t field = 0; field < kNames.size(); ++field) {
    const bool is_read = take(text, ",\"") && take(text, kNames[field]) && take(text, "\":");
    if (!is_read || !take_number(text, line.values[field])) return std::nullopt;
  }
  double norm = kNone;
  if (take(text, ",\"gradient_norm\":") && !take_number(text, norm)) return std::nullopt;
  if (!std::isnan(norm)) line.gradient_norm = norm;
  return text == "}" ? std::optional(line) : std::nullopt;
}

void check_ranges(const StepLine& line) {
  static const std::span<const FieldRange> kRanges = ranges_of("step");
  static const FieldRange& of_norm =
      *std::ranges::find(kRanges, std::string_view("gradient_norm"), [](const FieldRange& each) { return each.field; });
  for (std::size_t field = 0; field < kNames.size(); ++field) check_range(kRanges[field], line.values[field]);
  if (line.gradient_norm) check_range(of_norm, *line.gradient_norm);
}

StepLine step_line(const Json& object) {
  check_ranges(object, "step");
  StepLine line;
  for (std::size_t field = 0; field < kNames.size(); ++field) {
    const Json& value = object.at(std::string(kNames[field]));
    line.values[field] = value.is_null() ? kNone : value.get<double>();
  }
  if (const auto norm = object.find("gradient_norm"); norm != object.end() && !norm->is_null())
    line.gradient_norm = norm->get<double>();
  return line;
}

}  // namespace eave
