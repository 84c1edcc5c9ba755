// Who meets whom: drawn, and the same on all ranks without a word between them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace eave {

// Pairs, the lower rank first, in which each rank is at most once. With an even number of ranks all are; with an odd
// number one pauses: each once in `ranks` rounds, in an order drawn anew for these. Every pairing of those that do not
// pause is equally likely. A function of its arguments alone.
std::vector<std::pair<int, int>> gossip_pairs(std::uint64_t seed, std::int64_t round, int ranks);

}  // namespace eave
