// What all ranks of a job decide, compute or fail with together. Every function here is collective and blocking.
#pragma once

#include <functional>
#include <vector>

#include "eave/check.h"
#include "eave/transport.h"

namespace eave {

// Collective and blocking. Rank 0 calls `combine` with all ranks' rows of numbers, in rank order; every rank gets the
// row that it returns. If `combine` throws, all ranks throw the same AgreedError. Takes O(log p) messages, and bytes as
// Transport::gather.
using Rows = std::vector<std::vector<double>>;
std::vector<double> combine_over_ranks(Transport& transport, const std::vector<double>& mine,
                                       const std::function<std::vector<double>(const Rows&)>& combine);

// Collective and blocking, at the cost of combine_over_ranks. Sums in rank order, in double: the same bits on every
// rank.
std::vector<double> sum_over_ranks(Transport& transport, const std::vector<double>& mine);

// A failure that all ranks throw, with the same code and the same message. In TransportKind::run rank 0 prints it once
// for the whole job, and every rank returns its code. No rank needs to be aborted.
class AgreedError : public Error {
 public:
  using Error::Error;
};

// Collective; for set-up, in which a wrong option or file usually fails on all ranks alike. Runs `stage` on every rank.
// If it throws on any rank, all ranks throw the same AgreedError, with the code and the message of the lowest rank that
// failed. Unless every rank has the same message, the text also names that rank, its host, and the other ranks that
// failed. `stage` must not communicate: if one rank failed, the others would wait in it forever.
void agree(Transport& transport, const std::function<void()>& stage);

// Collective; for checks that rank 0 can make for all ranks. Runs `judge` on rank 0 only. If it throws there, all ranks
// throw the same AgreedError.
void let_first_judge(Transport& transport, const std::function<void()>& judge);

}  // namespace eave
