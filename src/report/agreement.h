// Numbers of a run's files that must agree: FORMATS.md states the same under "What must agree". A file that contradicts
// itself would be shown as a result.
#pragma once

#include <cmath>
#include <string>

#include "eave/recorder.h"
#include "report/field_ranges.h"

namespace eave {

// Each throws Contradiction, "FIELD is VALUE, but must be at most LIMIT, WHY", if it does not hold. `slack`: for
// numbers that come from clocks, sums or quotients of others.
void require_at_most(const char* field, double value, double limit, const char* why, double slack = 0);
void require_at_least(const char* field, double value, double limit, const char* why, double slack = 0);
void require_equal(const char* field, double value, double other, const char* why, double slack = 0);
void require_same(const char* field, const std::string& text, const std::string& other, const char* why);

// The first field in which two objects differ: "PATHfield is 5, but must be 3". Empty if there is none. A number that
// is not finite is null in both.
std::string difference(const Json& one, const Json& other, const std::string& path);

// A millionth of it, as for ranges, and a microsecond.
inline double slack_of(double seconds) { return 1e-6 * (1 + std::abs(seconds)); }

// What an evaluation, and a summary, must say to be true by themselves.
void require_agreement(const EvaluationRecord& evaluation);
void require_agreement(const RunSummary& summary, double test_accuracy);

}  // namespace eave
