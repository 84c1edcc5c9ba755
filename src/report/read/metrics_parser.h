// Parses and checks the lines of a metrics.jsonl in one pass; every reader of the file uses it. Each line is checked by
// itself (report/read/field_checks.h) and against the lines before it (FORMATS.md, "What must agree").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "eave/recorder.h"
#include "report/read/metrics_consistency.h"
#include "report/read/step_line.h"

namespace eave {

struct FailureLine {
  int code = 0;
  std::string message;
};
struct LostLines {
  std::int64_t lines = 0;
};
struct OtherLine {};  // a type that this eave does not know

// "3 lines of metrics.jsonl are missing, ..."
std::string lost_lines_text(std::int64_t lines);

using MetricsLine = std::variant<OtherLine, HeaderLine, StepLine, EvaluationRecord, RunSummary, FailureLine, LostLines>;

class MetricsParser {
 public:
  // Takes the next line of the file, without its line end. Throws Json::exception if the line is not valid; an
  // OutOfRange names the field. Such a line is ignored, and the reader may go on with the next one.
  MetricsLine take(std::string_view line);

  void pass_over() { ++number_; }  // skips a line that could not be read

  const HeaderLine* header() const { return consistency_.header(); }  // the last one; nullptr before the first
  std::size_t number() const { return number_; }                      // of the last line, from 1

 private:
  MetricsLine parse(std::string_view line) const;
  MetricsConsistency consistency_;
  std::size_t number_ = 0;
};

}  // namespace eave
