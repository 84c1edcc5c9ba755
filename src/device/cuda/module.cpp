// The entry point of the module: the one symbol that the program sees.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/library_handles.h"
#include "device/cuda_module.h"

namespace eave::cuda {
namespace {

constexpr int kLeastMajor = 7, kLeastMinor = 5;  // compute capability; kernels are not compiled for older ones

std::string why_unfit(int index, const cudaDeviceProp& properties) {
  if (properties.major > kLeastMajor || (properties.major == kLeastMajor && properties.minor >= kLeastMinor)) return "";
  const auto text = [](int major_number, int minor_number) {
    return std::to_string(major_number) + "." + std::to_string(minor_number);
  };
  return "GPU " + std::to_string(index) + ", " + properties.name + ", has compute capability " +
         text(properties.major, properties.minor) + ", and eave needs " + text(kLeastMajor, kLeastMinor) + " or more";
}

// The name of the MIG instance that this process uses, or "". Under MIG a process sees one instance of a GPU, and
// several instances may have the id of the whole GPU.
std::string instance_named() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string text = visible == nullptr ? "" : visible;
  return text.starts_with("MIG-") ? " " + text.substr(0, text.find(',')) : "";
}

std::vector<FoundGpu> list_devices() {
  std::vector<FoundGpu> gpus;
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
    gpus.push_back({id + instance_named(), why_unfit(index, properties)});
  }
  return gpus;
}

constexpr CudaModule kModule{kCudaModuleVersion, list_devices, require_cudnn_version,
                             [](int index) -> std::unique_ptr<Device> { return std::make_unique<CudaDevice>(index); },
                             [](Device& device, const CudaSettings& settings) {
                               return make_cuda_compute(static_cast<CudaDevice&>(device), settings);
                             }};

}  // namespace
}  // namespace eave::cuda

extern "C" __attribute__((visibility("default"))) const eave::CudaModule* eave_cuda_module() {
  return &eave::cuda::kModule;
}
