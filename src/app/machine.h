// What this process runs on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/metrics.h"

namespace eave {

std::string core_binding();                // cores this process may run on: "0-3,8"
int core_count(const std::string& cores);  // how many cores such a list names
std::int64_t peak_memory_bytes();          // largest resident set so far

// The table of ranks printed at start, a line each.
std::string rank_table(const std::vector<RankFacts>& ranks);

// "" or a sentence when ranks × threads outnumber the cores of a host.
std::string describe_oversubscription(const std::vector<RankFacts>& ranks, int threads_per_rank);

}  // namespace eave
