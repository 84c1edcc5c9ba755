// Whether a job's ranks have cores enough.
#pragma once

#include <vector>

#include "app/doctor_network.h"

namespace eave {

// Too few cores are worth a note: ranks that share them train, only slowly. Bound to the same core while others are
// free they are a problem.
std::vector<Finding> judge_cores(const JobFacts& job, const std::vector<HostFacts>& hosts);

}  // namespace eave
