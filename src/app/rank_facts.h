// What the ranks of a job tell each other of themselves before it begins.
#pragma once

#include <string>
#include <vector>

#include "eave/transport.h"
#include "report/metrics.h"

namespace eave {

// Collective: of every rank, in rank order, on rank 0; nothing elsewhere.
std::vector<RankFacts> gather_facts(Transport& transport, const RankFacts& mine);

// What is wrong with their cores and data, with `threads` on each; empty: nothing.
std::vector<std::string> describe_ranks(const std::vector<RankFacts>& ranks, int threads);

}  // namespace eave
