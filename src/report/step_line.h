// Step lines of metrics.jsonl. There may be millions, so they are read without building a JSON value for each.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "report/json.h"

namespace eave {

inline constexpr int kMetricsFormat = 1;  // of metrics.jsonl, in its header

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
  std::array<double, kFields> values{};  // NaN where the line has null
  double operator[](Field field) const { return values[field]; }
};

// Reads a line as MetricsWriter writes it. Nothing for any other line, be it a step's in other order or with other
// blanks: then parse it as JSON.
std::optional<StepLine> step_line(std::string_view text);

// Throws Json::exception where a field is missing or no number.
StepLine step_line(const Json& object);

// Throws OutOfRange (report/field_ranges.h) for a number that cannot be.
void check_ranges(const StepLine& line);

}  // namespace eave
