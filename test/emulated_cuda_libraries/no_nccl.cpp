// The emulated device has no NCCL; transports say so and copy through host memory.
#include <array>
#include <cstdlib>

#include "device/cuda/cuda_device.h"
#include "device/cuda/library_handles.h"
#include "device/device_collectives.h"
#include "eave/check.h"

namespace eave::cuda {

std::string CudaDevice::bus_id() const {
  std::array<char, 32> text{};
  EAVE_CUDA(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index_));
  return text.data();
}

// If EMULATED_NCCL_VERSION is set, NCCL of that version seems to be installed. Its version is checked as a real one's,
// but it computes nothing.
std::string CudaDevice::collective_library() const {
  const char* const version = std::getenv("EMULATED_NCCL_VERSION");
  if (version == nullptr) return {};
  constexpr long long kBuiltWith = 22809;
  require_version("NCCL", std::atoll(version), kBuiltWith, kWithoutNccl);
  return {};
}

std::unique_ptr<DeviceCollectives> CudaDevice::make_collectives() {
  throw Error(ExitCode::kResource, "the emulated GPU has no collectives");
}

}  // namespace eave::cuda
