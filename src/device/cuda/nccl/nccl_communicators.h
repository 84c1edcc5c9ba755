// The check that every call of NCCL goes through, and the communicators of one rank, which are watched for errors.
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <source_location>
#include <thread>
#include <vector>

#include "eave/check.h"

namespace eave::cuda {

// Describes a failure: the call, its place in the source, and NCCL's text. Its code is kPeerLost for errors of another
// rank or of the network, else kResource.
Error nccl_error(ncclResult_t status, const char* what,
                 const std::source_location& place = std::source_location::current());

// Throws nccl_error unless the call has succeeded or goes on in the background.
void check_nccl(ncclResult_t status, const char* what,
                const std::source_location& place = std::source_location::current());

// All communicators are non-blocking: no call of NCCL waits for a peer, so this rank can always give up. A watcher
// thread polls the communicators for asynchronous errors. If it finds one, it aborts all communicators, which ends
// their kernels and everything that waits for them. One thread calls this class; any thread may call has_failed.
class NcclCommunicators {
 public:
  explicit NcclCommunicators(int device_index);
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;
  // Finalises the communicators, and waits up to kLeaveLimit for ranks that still need this one.
  ~NcclCommunicators();

  // Blocks until all `size` ranks have joined, for at most kJoinLimit. Returns the communicator's number.
  int join(const ncclUniqueId& id, int place, int size);
  // Calls NCCL with communicator `number`, and returns when the work is in the stream.
  void launch(int number, const char* what, const std::function<ncclResult_t(ncclComm_t)>& call);

  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  void check() const;  // throws the error, if there is one

 private:
  using Clock = std::chrono::steady_clock;

  void watch() noexcept;
  // The caller of the next three functions holds the mutex.
  void look_for_errors();
  void fail(const Error& error);
  ncclResult_t state_of(ncclComm_t communicator) const;

  // Waits until the communicator's background work has ended, or until the limit. Returns ncclInProgress at the limit.
  ncclResult_t settle(ncclComm_t communicator, std::optional<Clock::time_point> limit);
  void take_leave(ncclComm_t communicator, Clock::time_point limit);

  const int device_index_;
  std::vector<ncclComm_t> communicators_;  // empty once failed
  mutable std::mutex mutex_;               // held for each call of NCCL, but not while waiting
  std::condition_variable changed_;
  bool closing_ = false;
  std::optional<Error> error_;  // written before failed_ is set
  std::atomic<bool> failed_{false};
  std::thread watcher_;
};

}  // namespace eave::cuda

#define EAVE_NCCL(call) ::eave::cuda::check_nccl((call), #call)
