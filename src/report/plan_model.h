// Step time, throughput and bytes of ranks that nobody has started yet, from what a short run has measured. No I/O.
//
// p ranks; x the seconds that a rank computes and loads in one step, as measured; X = x summed over the tau steps
// between two exchanges; E_p[X] the expected longest of p (PeriodTimes); S what a sum of the M bytes costs (PlanCost).
// Seconds of tau steps:
//
//   allreduce       tau = 1. E_p[x] + max(S / b, S - w x): b buckets that begin while backward goes on, of which the
//                   last cannot hide; w the share of a step behind which the others do (as DDP: Li et al. 2020). Each
//                   bucket pays its delays and messages.
//   periodic        E_p[X] + S: local-sgd, bmuf, slowmo, diloco
//   elastic         the exchange hides behind the next tau steps, and is waited for at their end: elastic_pace.
//                   Without scatter that is max(X, S)
//   tree            groups are hosts; tree_pace with S within a host every tau steps, and one among the hosts' first
//                   ranks every global_tau
//   asynchronous    with the center in shards on all ranks: X + max(0, 2 L + D - h). h are the steps behind which the
//                   exchange runs, one and the pull's delay. D is what a host's link carries in one period: its ranks'
//                   own requests, and replies to others for the shards that they keep, 2 r M (p-r)/p / B where there
//                   are enough shards for all; and half a window of shards until it is full, with more than two
//                   ranks. Ranks begin together, and stay together: what holds one up holds up all. Where their steps
//                   scatter they drift apart, and periods are up to 15 % shorter.
//                   With K center ranks, on a host each, workers take turns by themselves: the larger of X + R and D,
//                   the bounds of a closed queueing network (Denning, Buzen 1978), R = 2 L + M / B - h,
//                   D = max((p-K)/K, r) M / B. Between the two bounds queues make it slower than either.
//   pairs           gossip: pair_pace; an exchange is 2 L + r M / B, whatever p is
//   alone           mean x
//
// Left out: evaluations, checkpoints, switches that hold traffic up, processors that communication takes from computing
// beyond what the run measured, and memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/plan_network.h"

namespace eave {

struct PlanBasis {
  std::vector<std::vector<double>> step_seconds;  // [measured rank][step]: computing and loading
  double samples_per_step = 0;                    // of one rank
  double sum_bytes = 0;                           // M of a sum
  double parameter_bytes = 0;                     // M of all other exchanges
  double hidden_share = 0.5;                      // w of allreduce
};

enum class PlanKind { kAllreduce, kPeriodic, kElastic, kTree, kAsynchronous, kPairs, kAlone };

struct PlanMethod {
  std::string name;
  PlanKind kind = PlanKind::kAlone;
  std::int64_t tau = 1, global_tau = 1;  // global_tau: a multiple of tau
  bool sums_by_host = true;              // transport mpi, else mpi-flat
  std::int64_t hiding_steps = 0;         // asynchronous: its exchange runs behind so many, at most tau
  int center_ranks = 0;                  // asynchronous; 0: shards on all ranks
};

enum class PlanBound { kCompute, kStragglers, kNetwork, kMessages, kCenter };
const char* word_of(PlanBound bound);

// One number of ranks. Seconds and bytes are of one step, as means.
struct PlanRow {
  int ranks = 1;
  double step_seconds = 0;
  double straggling_seconds = 0;          // of it: waiting for slower ranks
  double exchange_seconds = 0;            // of it: waiting for exchanges
  double samples_per_second = 0;          // of all ranks
  double efficiency = 0;                  // against as many ranks that exchange nothing
  double bytes_per_rank = 0;              // as metrics.jsonl counts them; of easgd-tree those of a group's first rank
  double link_bytes = 0;                  // sent over a host's link
  PlanBound bound = PlanBound::kCompute;  // what takes most beside computing; compute: nothing takes 5 %
};

// ranks >= 1, and more than center_ranks.
PlanRow predict(const PlanBasis& basis, const PlanNetwork& network, const PlanMethod& method, int ranks);

}  // namespace eave
