// The random pairs of gossip. Every rank draws the same ones, without communication.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace eave {

// Pairs of ranks, the lower rank first; each rank is in at most one pair. With an even number of ranks every rank has a
// partner. With an odd number one rank pauses: each once in `ranks` rounds, in an order that is drawn anew for these
// rounds. All pairings of the other ranks are equally likely. The result depends only on the arguments.
std::vector<std::pair<int, int>> gossip_pairs(std::uint64_t seed, std::int64_t round, int ranks);

}  // namespace eave
