#include "device/cuda/cuda_handles.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "base/cuda_errors.h"
#include "eave/check.h"

namespace eave::cuda {

void check_cuda(cudaError_t status, const char* what, const std::source_location& place) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error: the runtime keeps it, and the next check would take it for its own
  const std::string file = std::filesystem::path(place.file_name()).filename();
  throw Error(ExitCode::kResource, "CUDA, " + std::string(what) + " (" + file + ":" + std::to_string(place.line()) +
                                       "): " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")" +
                                       advice_for_cuda_error(status));
}

namespace {

// By default a query in any thread breaks captures in the mode "global", whichever thread captures. While this object
// lives, only captures of its own thread matter.
class OnlyOwnCaptures {
 public:
  OnlyOwnCaptures() { EAVE_CUDA(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  OnlyOwnCaptures(const OnlyOwnCaptures&) = delete;
  OnlyOwnCaptures& operator=(const OnlyOwnCaptures&) = delete;
  ~OnlyOwnCaptures() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeThreadLocal;  // then the mode to go back to
};

}  // namespace

bool is_reached(cudaEvent_t event) {
  const OnlyOwnCaptures only_own;
  const cudaError_t status = cudaEventQuery(event);
  if (status == cudaErrorNotReady) return false;
  check_cuda(status, "cudaEventQuery");
  return true;
}

void await(cudaEvent_t event) {
  constexpr std::chrono::microseconds kWorthLooking{50};
  const auto start = std::chrono::steady_clock::now();
  do {
    if (is_reached(event)) return;
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() - start < kWorthLooking);
  EAVE_CUDA(cudaEventSynchronize(event));
}

}  // namespace eave::cuda
