// --reproducible: sums that do not depend on the number of ranks.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "eave/communicator.h"

namespace eave {

// A step's batch, of all ranks together, is cut into M micro-batches in the order of its samples. g_k is the gradient
// of micro-batch k, weighted by its samples. They are summed in a complete binary tree, for M = 8:
//
//     ((g_0 + g_1) + (g_2 + g_3)) + ((g_4 + g_5) + (g_6 + g_7))
//
// Each + rounds once in float32. Rank i of p has the micro-batches i M/p … (i + 1) M/p - 1. They form a subtree if p
// and M are powers of two. So each rank sums its own subtree first. Then the ranks go on in log2 p rounds: round l adds
// the sums of two ranks that differ only in bit l. For every p that divides M the additions are the same, so the bits
// are the same, and they are the same on all ranks.
//
// Each rank sends M_bytes log2 p per step, where M_bytes is the size of the gradients. One ring all-reduce over all
// ranks would send 2 M_bytes (p - 1)/p. The ratio is 1 on 2 ranks, 4/3 on 4, and 12/7 on 8.
using Pair = std::array<int, 2>;

// The two ranks of each round, this one and its partner, ascending. Empty for one rank.
std::vector<Pair> pairs_of(int rank, int ranks);

std::vector<OptionSpec> reproducible_options();  // --reproducible, --micro-batches
// M, the number of micro-batches; 0 without --reproducible. Throws Error(kUsage) if M or the number of ranks is no
// power of two, or if ranks outnumber micro-batches. Also throws it if another option makes results depend on the
// number of ranks.
int micro_batches_in(const CommunicatorContext& context);

std::string describe_micro_batches(int micro_batches, int ranks);

}  // namespace eave
