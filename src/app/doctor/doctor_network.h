// Judges the network between hosts, for doctor_findings.
#pragma once

#include <vector>

#include "app/doctor/doctor_findings.h"

namespace eave {

struct HostFacts {
  const DoctorFacts* facts;  // of its lowest rank
  std::vector<int> ranks;
};
std::vector<HostFacts> hosts_of(const JobFacts& job);

// Judges over which interfaces the hosts can reach each other, as far as the settings of Open MPI tell.
std::vector<Finding> judge_interfaces(const JobFacts& job, const std::vector<HostFacts>& hosts);

// Judges the measured times within hosts and between hosts.
std::vector<Finding> judge_links(const JobFacts& job, const std::vector<HostFacts>& hosts);

}  // namespace eave
