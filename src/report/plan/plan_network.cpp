#include "report/plan/plan_network.h"

#include <algorithm>
#include <cmath>

namespace eave {
namespace {

constexpr double kPartBytes = 15 * 1024 * 4.0;  // MessageWireSettings::part

// The time of the messages of both phases: `peers` messages each in every segment.
double message_seconds(const PlanNetwork& network, int peers, int parts, double bytes) {
  return 2.0 * peers * std::ceil(bytes / (kPartBytes * parts)) * network.message_seconds;
}

PlanCost cost(double delay, double transfer, double messages, double link_bytes) {
  return {2 * delay + std::max(transfer, messages), std::max(0.0, messages - transfer), link_bytes};
}

PlanCost sum_within_host(const PlanNetwork& network, int ranks, double bytes) {
  const double sent = 2.0 * (ranks - 1) / ranks * bytes;
  return cost(0, sent / network.host_bytes_per_second, message_seconds(network, ranks - 1, ranks, bytes), 0);
}

// A sum among hosts, where `sharing` ranks of each host each send a share of the values.
PlanCost sum_across(const PlanNetwork& network, int hosts, int sharing, double bytes) {
  const double sent = 2.0 * (hosts - 1) / hosts * bytes;
  return cost(network.delay_seconds, sent / network.value_rate(),
              message_seconds(network, hosts - 1, hosts * sharing, bytes), sent);
}

}  // namespace

PlanCost sum_flat(const PlanNetwork& network, int ranks, double bytes) {
  if (ranks == 1) return {};
  if (network.hosts(ranks) == 1) return sum_within_host(network, ranks, bytes);
  const int p = ranks, r = network.ranks_of_host(ranks);
  const double link = 2.0 * r * (p - r) / p * bytes, host = 2.0 * (r - 1) / p * bytes;
  return cost(network.delay_seconds, std::max(link / network.value_rate(), host / network.host_bytes_per_second),
              message_seconds(network, p - 1, p, bytes), link);
}

PlanCost sum_by_host(const PlanNetwork& network, int ranks, double bytes) {
  const int r = network.ranks_of_host(ranks), h = network.hosts(ranks);
  if (r == 1 || h == 1) return sum_flat(network, ranks, bytes);
  const PlanCost within = sum_within_host(network, r, bytes), across = sum_across(network, h, r, bytes);
  return {within.seconds + across.seconds, within.message_seconds + across.message_seconds, across.link_bytes};
}

PlanCost sum_between_hosts(const PlanNetwork& network, int hosts, double bytes) {
  return hosts == 1 ? PlanCost{} : sum_across(network, hosts, 1, bytes);
}

}  // namespace eave
