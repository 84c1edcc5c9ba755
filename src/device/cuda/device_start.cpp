// Opens a GPU, and explains failures: a missing or old driver, too little memory, or code compiled for another GPU.
#include <algorithm>
#include <string>

#include "base/cuda_errors.h"
#include "device/cuda/cuda_device.h"
#include "eave/check.h"
#include "kernels/cuda/flat.h"

namespace eave::cuda {
namespace {

[[noreturn]] void fail_without_driver() {
  int driver = 0, runtime = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  if (driver == 0) {
    throw Error(ExitCode::kResource,
                "no GPU can be used: there is no NVIDIA driver here (libcuda.so.1); install it, or "
                "train with --device cpu");
  }
  // If the driver's version is new enough but it refuses all the same, it lacks functions that this runtime calls.
  const std::string why = why_driver_is_too_old(driver, runtime);
  throw Error(ExitCode::kResource,
              "no GPU can be used: " +
                  (why.empty() ? "the NVIDIA driver here, of CUDA " + cuda_version_text(driver) + ", lacks what CUDA " +
                                     cuda_version_text(runtime) + " calls; update the driver"
                               : why) +
                  ", or train with --device cpu");
}

}  // namespace

std::string mebi_text(std::size_t bytes) {
  constexpr std::size_t kMebi = std::size_t{1} << 20;
  return bytes < 10 * kMebi ? std::to_string(bytes / 1024) + " KiB" : std::to_string(bytes / kMebi) + " MiB";
}

int count_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) fail_without_driver();
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    throw Error(ExitCode::kResource, no_gpu_is_seen());
  if (status == cudaSuccess) return count;
  cudaGetLastError();
  throw Error(ExitCode::kResource,
              "no GPU can be used: the driver does not start: " + std::string(cudaGetErrorString(status)) + " (" +
                  cudaGetErrorName(status) + ")" + advice_for_cuda_error(status) + ", or train with --device cpu");
}

// Makes the first call that sets up the GPU for this process. The driver then takes some hundred MiB of the GPU's
// memory.
void CudaDevice::start(const cudaDeviceProp& properties) {
  cudaError_t status = cudaSetDevice(index_);
  if (status == cudaSuccess) status = cudaFree(nullptr);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(ExitCode::kResource, "no memory is left on " + name_ + ", of " + mebi_text(properties.totalGlobalMem) +
                                         ", to begin with: other processes hold it (nvidia-smi lists them); end them, "
                                         "or use another GPU");
  }
  check_cuda(status, "cudaSetDevice");
  std::size_t free = 0;
  EAVE_CUDA(cudaMemGetInfo(&free, &total_bytes_));
  taken_bytes_ = total_bytes_ - std::min(free, total_bytes_);
}

// Runs one small kernel. If the code was compiled for other GPUs, this fails now and with a reason, not in the first
// step.
void CudaDevice::try_out(const cudaDeviceProp& properties) {
  try {
    cuda::fill(stream(), Slice(static_cast<float*>(scratch_.get()), 1), 1);
  } catch (const Error& error) {
    throw Error(error.code(), name_ + " (compute capability " + std::to_string(properties.major) + "." +
                                  std::to_string(properties.minor) + ") runs no kernel of this eave: " + error.what() +
                                  "; build it with -DCMAKE_CUDA_ARCHITECTURES=native on this host, or without that "
                                  "option; or use another GPU");
  }
  wait();
}

std::string CudaDevice::others_memory() const {
  if (taken_bytes_ < total_bytes_ / 8) return "";
  return "; other processes held " + mebi_text(taken_bytes_) + " of its " + mebi_text(total_bytes_) +
         " before this one began (nvidia-smi lists them)";
}

}  // namespace eave::cuda
