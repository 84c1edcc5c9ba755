// What variants are measured by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/variants.h"

namespace eave {

// Accuracy on what was held out, at the end; nothing where none was recorded.
std::optional<double> last_validation(const RunRecord& run);

// When a run came to an accuracy.
struct Reached {
  double seconds = 0, samples = 0;
  double bytes = 0;  // sent by the rank that had sent most
};

// At the first evaluation of the test accuracy at or above `accuracy`; where one came before it, linearly between the
// two. Nothing where there was none.
std::optional<Reached> reach(const RunRecord& run, double accuracy);

// The highest accuracy, in whole percent, that each finished run of each chosen variant had at some evaluation; nothing
// where that is 0 or there are no runs.
std::optional<double> common_accuracy(const std::vector<Variant>& variants, const std::vector<RunRecord>& runs);

// Fill the fields that their names say. Speed-up is against the fastest chosen one-rank variant with the same batch per
// rank that shares its machine, whatever its method.
void measure_ends(std::vector<Variant>& variants, const std::vector<RunRecord>& runs);
void measure_speedups(std::vector<Variant>& variants, const std::vector<RunRecord>& runs);
void measure_to_target(std::vector<Variant>& variants, const std::vector<RunRecord>& runs, double accuracy);

}  // namespace eave
