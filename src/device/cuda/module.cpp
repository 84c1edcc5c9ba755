// The door of the module: all that the program sees of it.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "device/cuda/cuda_compute.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda_module.h"

namespace eave::cuda {
namespace {

std::vector<std::string> list_devices() {
  std::vector<std::string> ids;
  const int count = count_devices();
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    EAVE_CUDA(cudaGetDeviceProperties(&properties, index));
    std::string id;
    for (const char byte : properties.uuid.bytes) {
      std::array<char, 3> hex{};
      std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(byte));
      id += hex.data();
    }
    ids.push_back(id);
  }
  return ids;
}

constexpr CudaModule kModule{kCudaModuleVersion, list_devices,
                             [](int index) -> std::unique_ptr<Device> { return std::make_unique<CudaDevice>(index); },
                             [](Device& device, const CudaSettings& settings) {
                               return make_cuda_compute(static_cast<CudaDevice&>(device), settings);
                             }};

}  // namespace
}  // namespace eave::cuda

extern "C" __attribute__((visibility("default"))) const eave::CudaModule* eave_cuda_module() {
  return &eave::cuda::kModule;
}
