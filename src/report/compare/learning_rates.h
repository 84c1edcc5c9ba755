// Chooses the learning rate that represents each method in a report.
#pragma once

#include <vector>

#include "report/compare/variants.h"

namespace eave {

// Groups variants that differ only in the learning rate, and marks the best of each group as chosen. The best has the
// highest mean validation accuracy at the end. If a finished run has recorded none, test accuracy decides.
//
// Only seeds that all variants of the group have count, because a comparison runs further seeds for the chosen rate
// only. If they share no seed, all count. A variant that lost a run with such a seed ranks behind those that lost none.
void choose_learning_rates(std::vector<Variant>& variants, const std::vector<RunRecord>& runs);

}  // namespace eave
