#include "communicator/elastic/gossip_settings.h"

#include <algorithm>
#include <cmath>

#include "base/options/number_text.h"
#include "communicator/elastic/easgd_settings.h"
#include "communicator/support/local_steps.h"
#include "eave/random.h"
#include "transport/core/transport_base.h"

namespace eave {
namespace {

constexpr double kDefaultAlpha = 0.45;  // 0.9/(d+1) with d = 1, because a worker meets one partner

void refuse_elastic_options(const OptionValues& values) {
  for (const std::string name : {"alpha", "allow-unstable"}) {
    if (!values.given(name)) continue;
    refuse_option(values, name,
                  "has no effect with --gossip average, in which a pair becomes its mean (alpha = 1/2); give "
                  "--gossip elastic, or leave it out");
  }
}

std::string numbers(const GossipSettings& settings) {
  return "tau = " + std::to_string(settings.tau) + ", alpha = " + number_text(settings.alpha) + " (--gossip " +
         (settings.is_elastic ? "elastic" : "average") + "), p = " + count_text(settings.workers, "worker") +
         (settings.workers == 1       ? ", who meets nobody"
          : settings.workers % 2 == 1 ? "; at each exchange one of them pauses, in turn"
                                      : "") +
         "; all workers have the same weight; worker momentum stays local; the mean of the workers is evaluated";
}

std::string describe_stability(const GossipSettings& settings) {
  std::string line = "stable for alpha < " + number_text(stable_gossip_alpha(settings.tau, 0));
  if (settings.tau == 1 && settings.alpha < 1) {
    line += ", and on curvature h while lr h < " + number_text(2 * (1 - settings.alpha));
  }
  return line + "; without momentum";
}

enum Part : std::uint32_t { kPairs = 0, kPauses = 1 };

// The shuffle of Fisher and Yates.
void shuffle(std::vector<int>& ranks, RandomStream random) {
  for (std::size_t i = ranks.size(); i > 1; --i) {
    std::swap(ranks[i - 1], ranks[random.below(static_cast<std::uint32_t>(i))]);
  }
}

int pausing_rank(std::uint64_t seed, std::int64_t round, int ranks) {
  std::vector<int> order = all_ranks(ranks);
  shuffle(order, {{seed, Purpose::kGossip, kPauses}, static_cast<std::uint64_t>(round / ranks)});
  return order[static_cast<std::size_t>(round % ranks)];
}

}  // namespace

std::vector<OptionSpec> gossip_options() {
  return {{"gossip",
           OptionType::kText,
           "average",
           "average: a pair takes its mean; elastic: --alpha pulls the pair together",
           {"average", "elastic"}},
          tau_option(),
          alpha_option(),
          allow_unstable_option()};
}

GossipSettings resolve_gossip(const CommunicatorContext& context) {
  const OptionValues& values = context.values;
  GossipSettings settings;
  settings.is_elastic = values.text("gossip") == "elastic";
  settings.tau = tau_in(values);
  settings.allow_unstable = values.flag("allow-unstable");
  settings.workers = context.transport.size();
  settings.seed = context.seed;
  if (settings.is_elastic) {
    settings.alpha = values.has("alpha") ? positive_real_in(values, "alpha") : kDefaultAlpha;
  } else {
    refuse_elastic_options(values);
  }
  return settings;
}

double stable_gossip_alpha(std::int64_t tau, double rate_times_curvature) {
  const double kept = 1 - rate_times_curvature;
  return (kept + std::pow(kept, static_cast<double>(1 - tau))) / 2;
}

std::string describe_gossip_instability(const GossipSettings& settings) {
  if (settings.alpha < 1) return "";
  return "elastic gossip is unstable: alpha must be below 1, in force is " + number_text(settings.alpha) +
         "; two workers overshoot each other, with 0.5 both become their mean; --allow-unstable silences this warning";
}

std::string describe_gossip(const GossipSettings& settings) {
  return "x_i <- x_i - step_i - alpha (x_i - x_j);  x_j <- x_j - step_j + alpha (x_i - x_j)  for random pairs (i, j) "
         "every tau steps;  all from the values before the step\n" +
         numbers(settings) + "\n" + describe_stability(settings) + "\n" + kLocalRate;
}

std::vector<std::pair<int, int>> gossip_pairs(std::uint64_t seed, std::int64_t round, int ranks) {
  std::vector<int> order = all_ranks(ranks);
  if (ranks % 2 == 1) std::erase(order, pausing_rank(seed, round, ranks));
  shuffle(order, {{seed, Purpose::kGossip, kPairs}, static_cast<std::uint64_t>(round)});
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) pairs.push_back(std::minmax(order[i], order[i + 1]));
  return pairs;
}

}  // namespace eave
