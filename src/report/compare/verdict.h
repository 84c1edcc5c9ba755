// States the result of a comparison in sentences that claim no more than the runs show.
#pragma once

#include <string>
#include <vector>

#include "report/compare/comparison.h"

namespace eave {

// Compares methods that ran with the same number of ranks, batch and place, largest number of ranks first. For each
// group it says which method had the best test accuracy, and which reached the target first. Each is compared with the
// next best by Welch's t-test, and a difference counts if p < 0.05. If methods have one run each, or different budgets,
// no winner is named.
std::vector<std::string> verdict_of(const Comparison& comparison);

// Notes that a reader needs to judge the numbers.
std::vector<std::string> notes_on(const Comparison& comparison);

}  // namespace eave
