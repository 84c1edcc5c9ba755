// Says what the evaluations of runs cost, which the seconds of a run do not contain.
#pragma once

#include <string>
#include <vector>

#include "report/record/run_record.h"

namespace eave {

// "Evaluations took 3.1 s besides, 11.5 % of the whole time (9.1 to 13.0 % of a run)." of the finished runs. "" if
// there are none, or their evaluations took less than 1 % of the whole.
std::string evaluation_cost(const std::vector<RunRecord>& runs);

}  // namespace eave
