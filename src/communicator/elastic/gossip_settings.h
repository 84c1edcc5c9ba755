// The settings of gossip: its options, the numbers that follow from them, the bound of stability, and the random pairs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "eave/communicator.h"

namespace eave {

struct GossipSettings {
  bool is_elastic = false;
  double alpha = 0.5;  // 1/2 unless elastic
  std::int64_t tau = 1;
  bool allow_unstable = false;
  int workers = 1;
  std::uint64_t seed = 0;
};

std::vector<OptionSpec> gossip_options();

// Throws Error(kUsage) if options contradict each other or have no effect. The message has a right choice.
GossipSettings resolve_gossip(const CommunicatorContext& context);

// The bound of alpha below which every sequence of pairs is stable. It holds on the quadratic h x^2 / 2 for
// rate_times_curvature q = learning rate · h in [0, 1), without momentum, if each exchange sees tau local steps.
//
// From one exchange to the next, a pair's mean is multiplied by (1−q)^τ and its difference by (1 − q − 2α)(1−q)^(τ−1).
// The pull leaves the mean unchanged and takes 2α of the difference. Both factors are below 1 in size for
//     α < (1 − q + (1−q)^(1−τ)) / 2
// At q = 0 the bound is 1 for every τ, and at τ = 1 it is 1 − q/2. For τ > 1 more curvature allows more. With two
// ranks, always the same pair, the bound is sharp. With more ranks it is sufficient, because other pairs absorb what
// one pair adds.
double stable_gossip_alpha(std::int64_t tau, double rate_times_curvature);

// "" if the settings are stable on a flat loss (q = 0). Otherwise a warning with the bound and the numbers in force.
std::string describe_gossip_instability(const GossipSettings& settings);

// Lines of ASCII for the card: the formula, its numbers, the bound of stability.
std::string describe_gossip(const GossipSettings& settings);

// The random pairs of gossip. Every rank draws the same ones, without communication.
//
// Pairs of ranks, the lower rank first; each rank is in at most one pair. With an even number of ranks every rank has a
// partner. With an odd number one rank pauses: each once in `ranks` rounds, in an order that is drawn anew for these
// rounds. All pairings of the other ranks are equally likely. The result depends only on the arguments.
std::vector<std::pair<int, int>> gossip_pairs(std::uint64_t seed, std::int64_t round, int ranks);

}  // namespace eave
