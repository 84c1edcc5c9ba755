#include "device/cuda/nccl/nccl_communicators.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/thread.h"
#include "device/device_collectives.h"

namespace eave::cuda {
namespace {

std::string advice_for(ncclResult_t status) {
  switch (status) {
    case ncclRemoteError:
    case ncclSystemError:
      return "a rank has ended or the network between ranks has failed: see the messages of other ranks";
    case ncclUnhandledCudaError:
      return "the memory of this GPU may be full, as nvidia-smi shows: then a smaller batch leaves more to NCCL. Or "
             "the GPU is not well, or the ranks run different drivers";
    default:
      return std::string("NCCL_DEBUG=INFO tells more; ") + kWithoutNccl;
  }
}

using namespace std::chrono_literals;

// Time for a node's start-up and its first connections. All ranks were present just before.
constexpr auto kJoinLimit = 120s;
constexpr auto kLeaveLimit = 3s;  // after it, this rank leaves without the others' consent
constexpr auto kWatchPeriod = 100ms;

// Usually the work is in the stream sooner than a sleep would end. If connections have to be made first, it takes far
// longer. (Neither was measured yet.)
void pause_after(std::chrono::steady_clock::duration waited) {
  if (waited < 200us) return std::this_thread::yield();
  std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(waited / 8, 5us, 1ms));
}

}  // namespace

Error nccl_error(ncclResult_t status, const char* what, const std::source_location& place) {
  const std::string file = std::filesystem::path(place.file_name()).filename();
  std::string text = "NCCL, " + std::string(what) + " (" + file + ":" + std::to_string(place.line()) +
                     "): " + ncclGetErrorString(status);
  const char* const detail = ncclGetLastError(nullptr);
  if (detail != nullptr && *detail != '\0') text += " (" + std::string(detail) + ")";
  const bool is_remote = status == ncclRemoteError || status == ncclSystemError;
  return {is_remote ? ExitCode::kPeerLost : ExitCode::kResource, text + "; " + advice_for(status)};
}

void check_nccl(ncclResult_t status, const char* what, const std::source_location& place) {
  if (status != ncclSuccess && status != ncclInProgress) throw nccl_error(status, what, place);
}

NcclCommunicators::NcclCommunicators(int device_index) : device_index_(device_index) {
  watcher_ = start_thread("to watch over NCCL", [this] { watch(); });
}

NcclCommunicators::~NcclCommunicators() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  watcher_.join();
  const Clock::time_point limit = Clock::now() + kLeaveLimit;
  for (ncclComm_t communicator : communicators_) take_leave(communicator, limit);
}

int NcclCommunicators::join(const ncclUniqueId& id, int place, int size) {
  check();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t communicator = nullptr;
  ncclResult_t status = ncclCommInitRankConfig(&communicator, size, id, place, &config);
  if (status == ncclSuccess || status == ncclInProgress) status = settle(communicator, Clock::now() + kJoinLimit);
  if (status != ncclSuccess) {
    const Error error = nccl_error(status, "ncclCommInitRankConfig");
    if (communicator != nullptr) static_cast<void>(ncclCommAbort(communicator));
    if (has_failed()) check();  // if another communicator's failure ended the wait, throw that
    if (status != ncclInProgress) throw Error(ExitCode::kResource, error.what());
    throw Error(ExitCode::kResource, "NCCL could not be set up within " + std::to_string(kJoinLimit.count()) +
                                         " s: its network does not reach all ranks (NCCL_SOCKET_IFNAME names the "
                                         "interface to use), or a rank is gone; " +
                                         kWithoutNccl);
  }
  const std::lock_guard lock(mutex_);
  communicators_.push_back(communicator);
  return static_cast<int>(communicators_.size() - 1);
}

void NcclCommunicators::launch(int number, const char* what, const std::function<ncclResult_t(ncclComm_t)>& call) {
  ncclComm_t communicator = nullptr;
  {
    const std::lock_guard lock(mutex_);
    check();
    communicator = communicators_.at(static_cast<std::size_t>(number));
    const ncclResult_t status = call(communicator);
    if (status != ncclSuccess && status != ncclInProgress) fail(nccl_error(status, what));
    if (status == ncclSuccess) return;
  }
  // No limit: the first operation of its kind waits for connections, and a peer makes them only when it gets that far.
  const ncclResult_t status = settle(communicator, std::nullopt);
  if (status == ncclSuccess) return;
  const std::lock_guard lock(mutex_);
  if (!has_failed()) fail(nccl_error(status, what));
  check();
}

void NcclCommunicators::check() const {
  if (has_failed()) throw *error_;
}

ncclResult_t NcclCommunicators::settle(ncclComm_t communicator, std::optional<Clock::time_point> limit) {
  const Clock::time_point start = Clock::now();
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (has_failed()) return ncclInternalError;  // the communicator may have been freed
      if (const ncclResult_t state = state_of(communicator); state != ncclInProgress) return state;
    }
    const Clock::time_point now = Clock::now();
    if (limit && now > *limit) return ncclInProgress;
    pause_after(now - start);
  }
}

ncclResult_t NcclCommunicators::state_of(ncclComm_t communicator) const {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t status = ncclCommGetAsyncError(communicator, &state);
  return status == ncclSuccess ? state : status;
}

void NcclCommunicators::watch() noexcept {
  static_cast<void>(cudaSetDevice(device_index_));  // not required: NCCL also selects the device itself
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kWatchPeriod, [this] { return closing_; })) look_for_errors();
}

void NcclCommunicators::look_for_errors() {
  for (ncclComm_t communicator : communicators_) {
    const ncclResult_t state = state_of(communicator);
    if (state != ncclSuccess && state != ncclInProgress) return fail(nccl_error(state, "an operation in flight"));
  }
}

void NcclCommunicators::fail(const Error& error) {
  // Record the error before aborting: an aborted operation counts as reached, although its sum is incomplete.
  error_.emplace(error);
  failed_.store(true, std::memory_order_release);
  for (ncclComm_t communicator : communicators_) static_cast<void>(ncclCommAbort(communicator));
  communicators_.clear();
}

void NcclCommunicators::take_leave(ncclComm_t communicator, Clock::time_point limit) {
  const ncclResult_t status = ncclCommFinalize(communicator);
  const bool is_going = status == ncclSuccess || status == ncclInProgress;
  if (is_going && settle(communicator, limit) == ncclSuccess) {
    static_cast<void>(ncclCommDestroy(communicator));
  } else {
    static_cast<void>(ncclCommAbort(communicator));
  }
}

}  // namespace eave::cuda
