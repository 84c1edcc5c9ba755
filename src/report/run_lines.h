// The one pass over the lines of a metrics.jsonl that every reader makes: each line is held to what it can say by
// itself (report/field_ranges.h) and beside the lines before it (FORMATS.md, "What must agree").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "eave/recorder.h"
#include "report/line_agreement.h"
#include "report/step_line.h"

namespace eave {

struct FailureLine {
  int code = 0;
  std::string message;
};
struct OtherLine {};  // that lines were lost, or of a type that this eave does not know

using RunLine = std::variant<OtherLine, HeaderLine, StepLine, EvaluationRecord, RunSummary, FailureLine>;

class RunLines {
 public:
  // The next line of the file, without its end. Throws Json::exception if it is no such line; an OutOfRange names the
  // field. Then nothing of the line counts, and the reader may go on with the next one.
  RunLine take(std::string_view line);

  void pass_over() { ++number_; }  // a line that could not be had

  const HeaderLine* header() const { return agreement_.header(); }  // the last one; nullptr before the first
  std::size_t number() const { return number_; }                    // of the line that was taken last, from 1

 private:
  RunLine parse(std::string_view line) const;
  LineAgreement agreement_;
  std::size_t number_ = 0;
};

}  // namespace eave
