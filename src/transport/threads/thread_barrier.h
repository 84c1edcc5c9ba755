// A barrier for ranks that are threads of one process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "transport/core/operation.h"

namespace eave {

// The first rank of a job that was lost; -1: none.
using LostRank = std::atomic<int>;

// The barrier of the communication threads of some ranks. Each operation takes place between enter() and leave(). After
// enter(), every rank may read all requests and use all their slices. After leave(), only a slice's owner may use it.
class ThreadBarrier {
 public:
  // `ranks` ascend. `lost` outlives this. Set `lost` before calling wake().
  ThreadBarrier(std::vector<int> ranks, const LostRank& lost);
  std::span<const int> ranks() const { return ranks_; }
  int place_of(int rank) const;  // index in ranks()

  // Waits for all ranks, and returns their requests in the order of ranks(). Throws Error(kPeerLost) if a rank of the
  // job is lost before all have come, and Error(kInternal) if the requests do not match.
  const std::vector<Operation::Request>& enter(int rank, const Operation::Request& request);
  // Waits for all ranks, so no rank leaves while another reads its memory. Every rank that met comes here, so it cannot
  // fail.
  void leave();
  // Any thread: wakes the ranks that wait, after a rank was lost.
  void wake() noexcept;

 private:
  template <class GiveUp>
  void arrive(std::unique_lock<std::mutex>& lock, GiveUp give_up);
  void check_in_step() const;

  const std::vector<int> ranks_;
  const LostRank& lost_;
  std::vector<Operation::Request> requests_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t phase_ = 0;
  std::size_t arrived_ = 0;
  bool all_in_ = false;  // between the last enter() and the last leave()
};

// Throws the Error(kPeerLost) that names this rank.
[[noreturn]] void throw_lost(int rank);

}  // namespace eave
