// Judges whether a job's ranks have enough cores.
#pragma once

#include <vector>

#include "app/doctor/doctor_network.h"

namespace eave {

// Too few cores give a note: ranks that share a core train, but slowly. Ranks bound to the same core while other cores
// are free are a problem.
std::vector<Finding> judge_cores(const JobFacts& job, const std::vector<HostFacts>& hosts);

}  // namespace eave
