// What a comparison has shown, in sentences that claim no more than the runs do.
#pragma once

#include <string>
#include <vector>

#include "report/comparison.h"

namespace eave {

// For each number of ranks and batch, the largest number of ranks first: which method had the best test accuracy, and
// which came to the target first, each against the next best by Welch's t. A difference counts from p < 0.05 on. One
// run each, and budgets that differ, name no winner.
std::vector<std::string> verdict_of(const Comparison& comparison);

// What a reader must know before believing the numbers.
std::vector<std::string> notes_on(const Comparison& comparison);

}  // namespace eave
