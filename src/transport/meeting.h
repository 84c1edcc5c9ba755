// Where ranks that are threads of one process meet.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "transport/operation.h"

namespace eave {

// The first rank of a job that was lost; -1: none.
using LostRank = std::atomic<int>;

// Where the communication threads of some ranks meet. An operation lies between meet() and part(): after meet() every
// one's request may be read and its slice touched by all; after part() it is its owner's again.
class Meeting {
 public:
  // `ranks` ascend. `lost` must be set before wake() is called, and outlive this.
  Meeting(std::vector<int> ranks, const LostRank& lost);
  std::span<const int> ranks() const { return ranks_; }
  int place_of(int rank) const;  // in ranks()

  // Returns the requests in the order of ranks(). Throws Error(kPeerLost) when a rank of the job is lost before all
  // have come, Error(kInternal) when their requests do not match.
  const std::vector<Operation::Request>& meet(int rank, const Operation::Request& request);
  // Everybody met, so everybody comes here: it cannot fail, and no rank leaves while another reads its memory.
  void part();
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
  bool all_in_ = false;  // between the last meet() and the last part()
};

[[noreturn]] void throw_lost(int rank);

}  // namespace eave
