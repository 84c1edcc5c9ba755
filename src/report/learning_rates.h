// Which learning rate stands for a method.
#pragma once

#include <vector>

#include "report/variants.h"

namespace eave {

// Of variants that differ in the learning rate alone, chooses the one with the best mean validation accuracy at the
// end, or test accuracy where a run has recorded no other. Only seeds are looked at that all of them have, for a
// comparison gives the chosen rate more; one that lost a run with such a seed goes behind those that lost none.
void choose_learning_rates(std::vector<Variant>& variants, const std::vector<RunRecord>& runs);

}  // namespace eave
