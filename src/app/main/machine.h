// Describes the machines of a job: cores, memory and limits of this process, and the facts of all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/host.h"
#include "eave/transport.h"
#include "report/record/metrics_writer.h"

namespace eave {

// Names an environment variable that makes OpenMP bind this process to one core, and what to do about it; "" if there
// is none.
std::string openmp_binding();
int core_count(const std::string& cores);  // number of cores in such a list

// The limits of the control groups that are lower than what the machine has. Any other limit is -1.
GroupLimits limiting_group();

// The table of ranks that is printed at start, with one line per rank.
std::string rank_table(const std::vector<RankFacts>& ranks);

// A sentence if ranks × threads exceed the cores of a host, or the cores that its control group allows; else "". The
// sentence names a setting of OpenMP in this process's environment that binds all ranks to the same core.
std::string describe_oversubscription(const std::vector<RankFacts>& ranks, int threads_per_rank);

// Collective. Returns the facts of every rank, in rank order, on rank 0; nothing on other ranks.
std::vector<RankFacts> gather_facts(Transport& transport, const RankFacts& mine);

// Warnings about the ranks' cores and data, with `threads` threads per rank. Empty if all is in order.
std::vector<std::string> describe_ranks(const std::vector<RankFacts>& ranks, int threads);

}  // namespace eave
