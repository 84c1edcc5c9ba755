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

void await(cudaEvent_t event) {
  constexpr std::chrono::microseconds kWorthLooking{50};
  const auto start = std::chrono::steady_clock::now();
  do {
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) check_cuda(status, "cudaEventQuery");
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() - start < kWorthLooking);
  EAVE_CUDA(cudaEventSynchronize(event));
}

}  // namespace eave::cuda
