// Finds runs whose seeds differ and whose numbers do not.
#pragma once

#include <vector>

#include "report/compare/variants.h"
#include "report/record/run_record.h"

namespace eave {

// Whether the finished runs of this variant have several seeds, and the same scores and losses to the last bit, enough
// of them. Only runs of a person's program are judged: it may ignore its seed, and `eave train` does not.
bool are_copies(const Variant& variant, const std::vector<RunRecord>& runs);

}  // namespace eave
