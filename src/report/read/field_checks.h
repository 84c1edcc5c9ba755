// Checks the numbers in a run's files: each number against its range, and numbers that must agree with each other.
// Every reader of run files refuses a file that fails. Otherwise one flipped bit could show an accuracy of 890 %, and a
// report would show a file that contradicts itself as a result.
//
// FORMATS.md states the same ranges, and test/house/formats_test compares the two. It lists the rules of agreement
// under "What must agree".
#pragma once

#include <cmath>
#include <span>
#include <string>

#include "eave/recorder.h"
#include "report/record/json.h"

namespace eave {

enum class NumberKind { kWhole, kReal, kRealOrNull };

struct FieldRange {
  const char* field;  // "center.loss"; "ranks[].rank" means this field of each list element
  NumberKind kind;
  double least, most;
};

// The ranges of a line of metrics.jsonl, named by its type, or of "summary.json". Empty for any other name.
std::span<const FieldRange> ranges_of(std::string_view record);

class OutOfRange : public Json::exception {
 public:
  explicit OutOfRange(const std::string& what) : exception(398, what.c_str()) {}
};

// Two fields, lines or files contradict each other.
class Contradiction : public OutOfRange {
 public:
  using OutOfRange::OutOfRange;
};

// Throws OutOfRange, which names the field, its value and its range. Missing fields pass: the reader refuses them.
void check_ranges(const Json& object, const std::string& record);
void check_range(const FieldRange& range, double value);

// Each of these functions throws Contradiction, "FIELD is VALUE, but must be at most LIMIT, WHY", if its condition does
// not hold. `slack` is the difference to allow for numbers that come from clocks, sums or quotients.
void require_at_most(const char* field, double value, double limit, const char* why, double slack = 0);
void require_at_least(const char* field, double value, double limit, const char* why, double slack = 0);
void require_equal(const char* field, double value, double other, const char* why, double slack = 0);
void require_same(const char* field, const std::string& text, const std::string& other, const char* why);

// Describes the first field in which two objects differ: "PATHfield is 5, but must be 3". Empty if they are equal. All
// numbers that are not finite count as equal, since both are written as null.
std::string difference(const Json& one, const Json& other, const std::string& path);

// The slack for times in seconds: one microsecond, plus a millionth of the value as for ranges.
inline double slack_of(double seconds) { return 1e-6 * (1 + std::abs(seconds)); }

// Check one evaluation, or one summary, against its own fields. `test_accuracy` is the summary's field of that name,
// or its `test_score`.
void require_consistent(const EvaluationRecord& evaluation);
void require_consistent(const RunSummary& summary, double test_accuracy);

}  // namespace eave
