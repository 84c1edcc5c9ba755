// Judges the facts of a job: what is wrong, and what the person can do about it. Needs no communication.
#pragma once

#include <string>
#include <vector>

#include "app/doctor/doctor_facts.h"
#include "eave/check.h"

namespace eave {

enum class Severity { kProblem, kNote, kOk };

struct Finding {
  Severity severity;
  std::string topic;  // one word
  std::string text;
  // For a problem, the exit code with which the job would end; kConfiguration if the job would not end.
  ExitCode code = ExitCode::kDone;
  std::vector<std::string> more = {};  // lines below `text`
};

// All findings: problems first, then notes, then what is in order.
std::vector<Finding> judge(const JobFacts& job);

// kDone without problems. If all problems have the same code, that code; else kConfiguration.
ExitCode exit_code_of(const std::vector<Finding>& findings);

// One line per finding, with its further lines below, and a last line that counts them. Printable.
std::string describe(const std::vector<Finding>& findings);

std::string name_ranks(const std::vector<int>& ranks);  // "ranks 0, 2 and 5 others"

struct HostFacts {
  const DoctorFacts* facts;  // of its lowest rank
  std::vector<int> ranks;
};
std::vector<HostFacts> hosts_of(const JobFacts& job);

// Judges over which interfaces the hosts can reach each other, as far as the settings of Open MPI tell.
std::vector<Finding> judge_interfaces(const JobFacts& job, const std::vector<HostFacts>& hosts);

// Judges the measured times within hosts and between hosts.
std::vector<Finding> judge_links(const JobFacts& job, const std::vector<HostFacts>& hosts);

// Too few cores give a note: ranks that share a core train, but slowly. Ranks bound to the same core while other cores
// are free are a problem.
std::vector<Finding> judge_cores(const JobFacts& job, const std::vector<HostFacts>& hosts);

}  // namespace eave
