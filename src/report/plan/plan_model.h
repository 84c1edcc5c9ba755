// Predicts step time, throughput and bytes for numbers of ranks that were not run, from the measurements of a short
// run. No I/O.
//
// Symbols: p ranks, of which r share a host. x is the measured time in which a rank computes and loads one step. X is x
// summed over the tau steps between two exchanges. E_p[X] is the expected longest of p such times (PeriodTimes). S is
// the cost of a sum of M bytes (PlanCost). L is the one-way delay, B the rate of a host's link (PlanNetwork).
//
// Seconds of tau steps, by the pattern of a method's exchanges (eave/exchange_pattern.h):
//
//   gradient sums   tau = 1. E_p[x] + max(S / b, S - w x), with b buckets. All but the last are sent while backward
//                   goes on, behind the share w of a step (as DDP: Li et al. 2020); the last cannot be hidden. Each
//                   bucket pays its own delays and messages.
//   blocking sums   E_p[X] + S
//   hidden sums     simulate_elastic: the exchange runs behind the next tau steps, and ranks wait for its end after
//                   them. If all X are equal, this is max(X, S).
//   tree            simulate_tree: groups are hosts. There is a sum within a host every tau steps, and a sum among the
//                   hosts' first ranks every global_tau steps. Either hides behind computing unless the ranks wait.
//   requests        With the center in shards on all ranks: X + max(0, 2 L + D - h). The exchange runs behind h, the
//                   time of hiding_steps steps (one and the pull's delay). D is the time of a host's link for the
//                   traffic of one period. That is its ranks' own requests, and the replies for the shards that they
//                   keep: 2 r M (p-r)/p / B if there are enough shards for all. With more than two ranks, half a window
//                   of shards is added, until the window is full. Ranks begin together and stay together, since a delay
//                   of one delays all. If their steps vary they drift apart, and periods are up to 15 % shorter.
//                   With K center ranks, each on its own host, workers come to take turns by themselves. The period is
//                   the larger of X + R and D, the bounds of a closed queueing network (Denning, Buzen 1978), with
//                   R = 2 L + M / B - h and D = max((p-K)/K, r) M / B. Near the point where both bounds are equal,
//                   queues make it slower than either.
//   pairs           simulate_pairs: an exchange takes 2 L + r M / B, for any p
//   none            mean x
//
// Not modelled: evaluations, checkpoints, congested switches, memory, and processor time that communication takes from
// computing beyond what the run measured.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eave/exchange_pattern.h"
#include "report/plan/plan_network.h"

namespace eave {

struct PlanBasis {
  std::vector<std::vector<double>> step_seconds;  // [measured rank][step]: computing and loading
  double samples_per_step = 0;                    // of one rank
  double sum_bytes = 0;                           // M for sums
  bool is_sum_compressed = false;                 // then a sum goes directly between all ranks, whatever the hosts
  double parameter_bytes = 0;                     // M for all other exchanges
  double bucket_bytes = 0;                        // of allreduce's buckets of gradients; 0: its default
  double hidden_share = 0.5;                      // w for allreduce
};

// Whether the exchanges are sums over all ranks.
inline bool sums_over_all(std::optional<ExchangePattern> pattern) {
  using enum ExchangePattern;
  return pattern == kGradientSums || pattern == kBlockingSums || pattern == kHiddenSums;
}

struct PlanMethod {
  std::string name;
  ExchangePattern pattern = ExchangePattern::kNone;
  std::int64_t tau = 1, global_tau = 1;  // global_tau: a multiple of tau
  bool sums_by_host = true;              // true: transport mpi; false: mpi-flat
  std::int64_t hiding_steps = 0;         // requests: steps behind which its exchange runs, at most tau
  int center_ranks = 0;                  // requests; 0: the center is in shards on all ranks
  // The run's setting with which its ranks waited for each exchange: "--overlap off". Empty if they did not.
  std::string waits_with = "";
  // Options beside tau that do not change the time of a step, such as alpha, if they differ from their defaults.
  std::map<std::string, std::string> options = {};
};

// Plans the method as if its ranks waited for each exchange, as a run did with `setting`. "" changes nothing.
void let_wait(PlanMethod& method, const std::string& setting);

enum class PlanBound { kCompute, kStragglers, kNetwork, kMessages, kCenter };
const char* word_of(PlanBound bound);

// The prediction for one number of ranks. Seconds and bytes are means per step.
struct PlanRow {
  int ranks = 1;
  double step_seconds = 0;
  double straggling_seconds = 0;  // part of step_seconds: waiting for slower ranks
  double exchange_seconds = 0;    // part of step_seconds: waiting for exchanges
  double samples_per_second = 0;  // of all ranks
  double efficiency = 0;          // samples_per_second divided by that of as many ranks without exchanges
  double bytes_per_rank = 0;      // as metrics.jsonl counts them; for easgd-tree, of a group's first rank
  double link_bytes = 0;          // sent over a host's link
  // The largest cost besides computing; kCompute if no such cost takes 5 % of a step.
  PlanBound bound = PlanBound::kCompute;
};

// Requires ranks >= 1 and ranks > method.center_ranks.
PlanRow predict(const PlanBasis& basis, const PlanNetwork& network, const PlanMethod& method, int ranks);

}  // namespace eave
