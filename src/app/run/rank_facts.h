// Gathers facts about all ranks of a job before it begins.
#pragma once

#include <string>
#include <vector>

#include "eave/transport.h"
#include "report/record/metrics.h"

namespace eave {

// Collective. Returns the facts of every rank, in rank order, on rank 0; nothing on other ranks.
std::vector<RankFacts> gather_facts(Transport& transport, const RankFacts& mine);

// Warnings about the ranks' cores and data, with `threads` threads per rank. Empty if all is in order.
std::vector<std::string> describe_ranks(const std::vector<RankFacts>& ranks, int threads);

}  // namespace eave
