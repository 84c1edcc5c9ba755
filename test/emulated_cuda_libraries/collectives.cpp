// The emulated device has no library of collectives; transports say so, and go through the host.
#include <array>
#include <cstdlib>

#include "device/cuda/cuda_device.h"
#include "device/cuda/library_version.h"
#include "device/device_collectives.h"
#include "eave/check.h"

namespace eave::cuda {

std::string CudaDevice::bus_id() const {
  std::array<char, 32> text{};
  EAVE_CUDA(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index_));
  return text.data();
}

// EMULATED_NCCL_VERSION is one that is found and looked at, as for the real one, and does nothing.
std::string CudaDevice::collective_library() const {
  const char* const version = std::getenv("EMULATED_NCCL_VERSION");
  if (version == nullptr) return {};
  constexpr long long kBuiltWith = 22809;
  require_version("NCCL", std::atoll(version), kBuiltWith, "--transport mpi does without NCCL");
  return {};
}

std::unique_ptr<DeviceCollectives> CudaDevice::make_collectives() {
  throw Error(ExitCode::kResource, "the emulated GPU has no collectives");
}

}  // namespace eave::cuda
