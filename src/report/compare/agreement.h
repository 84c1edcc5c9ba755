// Checks that numbers in a run's files agree with each other. A report would otherwise show a file that contradicts
// itself as a result. FORMATS.md lists the rules under "What must agree".
#pragma once

#include <cmath>
#include <string>

#include "eave/recorder.h"
#include "report/read/field_ranges.h"

namespace eave {

// Each function throws Contradiction, "FIELD is VALUE, but must be at most LIMIT, WHY", if its condition does not hold.
// `slack` is the difference to allow for numbers that come from clocks, sums or quotients.
void require_at_most(const char* field, double value, double limit, const char* why, double slack = 0);
void require_at_least(const char* field, double value, double limit, const char* why, double slack = 0);
void require_equal(const char* field, double value, double other, const char* why, double slack = 0);
void require_same(const char* field, const std::string& text, const std::string& other, const char* why);

// Describes the first field in which two objects differ: "PATHfield is 5, but must be 3". Empty if they are equal. All
// numbers that are not finite count as equal, since both are written as null.
std::string difference(const Json& one, const Json& other, const std::string& path);

// The slack for times in seconds: one microsecond, plus a millionth of the value as for ranges.
inline double slack_of(double seconds) { return 1e-6 * (1 + std::abs(seconds)); }

// Check one evaluation, or one summary, against its own fields. `test_accuracy` is the summary's field of that name.
void require_agreement(const EvaluationRecord& evaluation);
void require_agreement(const RunSummary& summary, double test_accuracy);

}  // namespace eave
