#include "device/cuda/cuda_handles.h"

#include <chrono>
#include <thread>

namespace eave::cuda {

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
