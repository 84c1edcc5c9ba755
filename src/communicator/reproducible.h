// --reproducible: sums that do not depend on the number of ranks.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "eave/communicator.h"

namespace eave {

// With g_k the gradient of micro-batch k, weighted by its samples, of M micro-batches in a step of all ranks together,
// in the order of their samples: the sum is that of a complete binary tree,
//
//     ((g_0 + g_1) + (g_2 + g_3)) + ((g_4 + g_5) + (g_6 + g_7))   for M = 8,
//
// each + one rounding in float32. Rank i of p has the micro-batches i M/p … (i + 1) M/p - 1: a subtree, where p and M
// are powers of two. So each rank sums its own, and the ranks go on in log2 p rounds: round l adds the sums of ranks
// that differ in bit l alone. What is added is the same for every p that divides M, bit by bit, and the same on all
// ranks.
//
// Bytes each rank sends per step: M_bytes log2 p; the ring of one allreduce over all would need 2 M_bytes (p - 1)/p: as
// many on 2 ranks, 4/3 of it on 4, 12/7 on 8.
using Pair = std::array<int, 2>;

// Of each round the two ranks that add up, this one and its partner, ascending; none for one rank.
std::vector<Pair> pairs_of(int rank, int ranks);

std::vector<OptionSpec> reproducible_options();  // --reproducible, --micro-batches
// M; 0 without --reproducible. Throws Error(kUsage) where M or the ranks do not make a tree, or what else is given
// depends on the number of ranks.
int micro_batches_in(const CommunicatorContext& context);

std::string describe_micro_batches(int micro_batches, int ranks);

}  // namespace eave
