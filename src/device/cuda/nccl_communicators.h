// NCCL's communicators of one rank, and the watch over them.
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "eave/check.h"

namespace eave::cuda {

// All communicators are non-blocking: no call of NCCL waits for a peer, so this rank can always give up. A watcher asks
// them for asynchronous errors and, when there is one, aborts them all: their kernels end, and so does whatever waits
// for them. One thread calls this, but for has_failed.
class NcclCommunicators {
 public:
  explicit NcclCommunicators(int device_index);
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;
  // Takes leave of the others, who may need this rank a little longer.
  ~NcclCommunicators();

  // Blocks until all have come, at most kJoinLimit. Returns the communicator's number.
  int join(const ncclUniqueId& id, int place, int size);
  // Calls NCCL with a communicator; returns when the work is in the stream.
  void launch(int number, const char* what, const std::function<ncclResult_t(ncclComm_t)>& call);

  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  void check() const;  // throws what has failed

 private:
  using Clock = std::chrono::steady_clock;

  void watch() noexcept;
  // These hold the mutex.
  void look_for_errors();
  void fail(const Error& error);
  ncclResult_t state_of(ncclComm_t communicator) const;

  // Until it does not go on in the background any more, or the limit is reached.
  ncclResult_t settle(ncclComm_t communicator, std::optional<Clock::time_point> limit);
  void take_leave(ncclComm_t communicator, Clock::time_point limit);

  const int device_index_;
  std::vector<ncclComm_t> communicators_;  // empty once failed
  mutable std::mutex mutex_;               // around each call of NCCL, not around waiting
  std::condition_variable changed_;
  bool closing_ = false;
  std::optional<Error> error_;  // written before failed_ is set
  std::atomic<bool> failed_{false};
  std::thread watcher_;
};

}  // namespace eave::cuda
