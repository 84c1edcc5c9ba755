// What this process runs on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/metrics.h"

namespace eave {

std::string core_binding();  // cores this process may run on: "0-3,8"
// Which variable of the environment makes OpenMP bind this process to a core, and what to do; "": none does.
std::string openmp_binding();
int core_count(const std::string& cores);  // how many cores such a list names
std::int64_t peak_memory_bytes();          // largest resident set so far

// What the control groups allow, as far as it is less than the machine has; -1 elsewhere.
GroupLimits limiting_group();

// The table of ranks printed at start, a line each.
std::string rank_table(const std::vector<RankFacts>& ranks);

// "" or a sentence when ranks × threads outnumber the cores of a host, or those that its control group allows. It names
// a setting of OpenMP in this process's environment that binds ranks to the same core.
std::string describe_oversubscription(const std::vector<RankFacts>& ranks, int threads_per_rank);

}  // namespace eave
