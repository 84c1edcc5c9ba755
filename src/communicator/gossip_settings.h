// The numbers of gossip: options, what follows from them, and whether they are stable.
#pragma once

#include <cstdint>
#include <string>
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

// Throws Error(kUsage), with what would be right, for options that contradict each other or have no effect.
GossipSettings resolve_gossip(const CommunicatorContext& context);

// The alpha below which every sequence of pairs is stable on the quadratic h x^2 / 2 for rate_times_curvature q =
// learning rate · h in [0, 1), without momentum, where each exchange sees tau local steps.
//
// Of a pair, the mean goes from one exchange to the next by (1−q)^τ and the difference by (1 − q − 2α)(1−q)^(τ−1): the
// pull leaves the mean alone and takes 2α of the difference. Both are below 1 in size for
//     α < (1 − q + (1−q)^(1−τ)) / 2,
// which is 1 at q = 0 whatever τ, and at τ = 1 is 1 − q/2. For τ > 1 more curvature allows more. With two ranks, always
// the same pair, the bound is sharp; with more, other pairs take up what one pair adds, and it is assured.
double stable_gossip_alpha(std::int64_t tau, double rate_times_curvature);

// "" when the settings are stable on every nearly flat loss; otherwise a warning with the bound and what is in force.
std::string describe_gossip_instability(const GossipSettings& settings);

// Lines of ASCII: the formula, its numbers, the stability bound.
std::string describe_gossip(const GossipSettings& settings);

}  // namespace eave
