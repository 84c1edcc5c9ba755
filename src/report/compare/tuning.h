// Chooses the learning rate that stands for each method, and says what the choice took and where it lies.
#pragma once

#include <optional>
#include <vector>

#include "report/compare/variants.h"
#include "report/record/run_record.h"

namespace eave {

// The validation score at the end of the run, or nothing if none was recorded.
std::optional<double> last_validation(const RunRecord& run);

// Groups variants that differ only in the learning rate, and marks the best of each group as chosen. Fills their fields
// `tuning` and `edges`. The scores at the end must be measured.
void choose_learning_rates(std::vector<Variant>& variants, const std::vector<RunRecord>& runs);

}  // namespace eave
