// The emulated device has no library of collectives; transports say so, and go through the host.
#include <array>

#include "device/cuda/cuda_device.h"
#include "device/device_collectives.h"
#include "eave/check.h"

namespace eave::cuda {

std::string CudaDevice::bus_id() const {
  std::array<char, 32> text{};
  EAVE_CUDA(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index_));
  return text.data();
}

std::string CudaDevice::collective_library() const { return {}; }

std::unique_ptr<DeviceCollectives> CudaDevice::make_collectives() {
  throw Error(ExitCode::kResource, "the emulated GPU has no collectives");
}

}  // namespace eave::cuda
