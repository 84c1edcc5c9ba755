// Reads step lines of metrics.jsonl without building a JSON value for each, since there may be millions.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "report/record/json.h"

namespace eave {

struct StepLine {
  enum Field {
    kRank,
    kStep,
    kSamples,
    kEpoch,
    kLoss,
    kRate,
    kSeconds,
    kComputing,
    kExchanging,
    kWaiting,
    kLoading,
    kBytes,
    kFields
  };
  std::array<double, kFields> values{};  // NaN if the line has null
  std::optional<double> gradient_norm;   // nullopt if the line has none
  double operator[](Field field) const { return values[field]; }
};

// Reads a line that MetricsWriter wrote. Returns nothing for any other line, even a step line with another order of
// fields or other blanks. Parse such a line as JSON.
std::optional<StepLine> step_line(std::string_view text);

// Throws Json::exception if a field is missing or not a number.
StepLine step_line(const Json& object);

// Throws OutOfRange if a number is outside its range (report/read/field_checks.h).
void check_ranges(const StepLine& line);

}  // namespace eave
