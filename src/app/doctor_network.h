// The part of doctor_findings that is about the network between hosts.
#pragma once

#include <vector>

#include "app/doctor_findings.h"

namespace eave {

struct HostFacts {
  const DoctorFacts* facts;  // of its lowest rank
  std::vector<int> ranks;
};
std::vector<HostFacts> hosts_of(const JobFacts& job);

// Over which interfaces hosts meet, as far as the settings of Open MPI tell.
std::vector<Finding> judge_interfaces(const JobFacts& job, const std::vector<HostFacts>& hosts);

// The measured times, within hosts and between them.
std::vector<Finding> judge_links(const JobFacts& job, const std::vector<HostFacts>& hosts);

}  // namespace eave
