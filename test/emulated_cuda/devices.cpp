// The emulated devices, errors, and failures on demand.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "state.h"

namespace eave::emulated_cuda {
namespace {

thread_local int device_of_thread = 0;
thread_local cudaError_t last_error = cudaSuccess;

constexpr int kMultiprocessors = 4;

int devices_asked() { return number_in("EMULATED_CUDA_DEVICES", 1); }

int driver_version() { return devices_asked() < 0 ? 0 : number_in("EMULATED_CUDA_DRIVER", CUDART_VERSION); }

// The number of the GPU that a word of CUDA_VISIBLE_DEVICES names: "2", or "GPU-2" or "MIG-2-…" in place of UUIDs.
int number_named(std::string word) {
  const bool is_instance = word.starts_with("MIG-");
  if (is_instance || word.starts_with("GPU-")) word.erase(0, 4);
  if (is_instance) word = word.substr(0, word.find('-'));
  int number = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? number : -1;
}

// The machine's numbers of the GPUs that the process sees.
std::vector<int> devices_seen() {
  const int count = std::max(0, devices_asked());
  const char* visible = std::getenv("EMULATED_CUDA_DEVICES") != nullptr ? std::getenv("CUDA_VISIBLE_DEVICES") : nullptr;
  std::vector<int> numbers;
  if (visible == nullptr) {
    for (int number = 0; number < count; ++number) numbers.push_back(number);
    return numbers;
  }
  std::istringstream words(visible);
  for (std::string word; std::getline(words, word, ',');) {
    const int number = number_named(word);
    if (number < 0 || number >= count) break;
    numbers.push_back(number);
    if (word.starts_with("MIG-")) break;  // a process sees only one MIG instance
  }
  return numbers;
}

int number_of(int device) {
  const std::vector<int> seen = devices_seen();
  const auto index = static_cast<std::size_t>(device);
  return index < seen.size() ? seen[index] : -1;
}

// The compute capability of GPU `number`. With "9.0,7.0" GPU 0 has 9.0 and all others have 7.0.
std::pair<int, int> capability_of(int number) {
  const char* const text = std::getenv("EMULATED_CUDA_CAPABILITY");
  std::istringstream words(text != nullptr ? text : "9.0");
  std::string word;
  for (int i = 0; i <= number && std::getline(words, word, ',');) ++i;
  std::pair<int, int> capability;
  std::sscanf(word.c_str(), "%d.%d", &capability.first, &capability.second);
  return capability;
}

}  // namespace

int number_in(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

std::mutex& lock() {
  static auto* const one = new std::mutex;
  return *one;
}

int current_device() { return device_of_thread; }
int device_count() { return static_cast<int>(devices_seen().size()); }

cudaError_t devices_status() {
  if (driver_version() / 1000 < CUDART_VERSION / 1000) return cudaErrorInsufficientDriver;
  return device_count() > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t injected_failure(const char* call) {
  static auto* const calls = new std::map<std::string, long>;
  static auto* const broken = new std::map<std::string, cudaError_t>;  // key: the GPU, or "" for all
  const char* plan = std::getenv("EMULATED_CUDA_FAIL");
  if (plan == nullptr) return cudaSuccess;
  const std::string gpu = std::to_string(number_of(current_device())) + "/";
  for (const std::string& who : {std::string(), gpu})
    if (broken->contains(who)) return broken->at(who);
  const long count = ++(*calls)[call], count_on_gpu = ++(*calls)[gpu + call];
  std::istringstream parts(plan);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream words(part);
    std::string name, which, error, lasting;
    std::getline(words, name, ':');
    std::getline(words, which, ':');
    std::getline(words, error, ':');
    std::getline(words, lasting, ':');
    const bool is_of_gpu = name == gpu + call;
    if ((!is_of_gpu && name != call) || std::atol(which.c_str()) != (is_of_gpu ? count_on_gpu : count)) continue;
    const auto failure = static_cast<cudaError_t>(std::atoi(error.c_str()));
    if (lasting == "lasting") (*broken)[is_of_gpu ? gpu : ""] = failure;
    return failure;
  }
  return cudaSuccess;
}

cudaError_t remember_error(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error = status;
  return status;
}

}  // namespace eave::emulated_cuda

using namespace eave::emulated_cuda;

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorDevicesUnavailable:
      return "cudaErrorDevicesUnavailable";
    case cudaErrorNoKernelImageForDevice:
      return "cudaErrorNoKernelImageForDevice";
    case cudaErrorECCUncorrectable:
      return "cudaErrorECCUncorrectable";
    case cudaErrorSystemNotReady:
      return "cudaErrorSystemNotReady";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureUnmatched:
      return "cudaErrorStreamCaptureUnmatched";
    case cudaErrorStreamCaptureUnjoined:
      return "cudaErrorStreamCaptureUnjoined";
    default:
      return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorMemoryAllocation) return "out of memory";
  if (error == cudaErrorNoDevice) return "no CUDA-capable device is detected";
  if (error == cudaErrorInsufficientDriver) return "CUDA driver version is insufficient for CUDA runtime version";
  if (error == cudaErrorInvalidDevice) return "invalid device ordinal";
  if (error == cudaErrorIllegalAddress) return "an illegal memory access was encountered";
  return "an error of the emulated CUDA runtime";
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&] {
    const cudaError_t status = devices_status();
    if (status == cudaSuccess) *count = device_count();  // on an error CUDA leaves *count unchanged
    return status;
  });
}
cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&] {
    if (const cudaError_t status = devices_status(); status != cudaSuccess) return status;
    if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
    device_of_thread = device;
    return is_full(device) ? cudaErrorMemoryAllocation : cudaSuccess;  // CUDA creates the context here
  });
}
cudaError_t cudaGetDevice(int* device) {
  return call("cudaGetDevice", [&] {
    *device = device_of_thread;
    return devices_status();
  });
}
cudaError_t cudaDriverGetVersion(int* version) {
  return call("cudaDriverGetVersion", [&] {
    *version = driver_version();
    return cudaSuccess;
  });
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  return call("cudaRuntimeGetVersion", [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  std::size_t free_bytes = 0, total_bytes = 0;
  if (const cudaError_t status = cudaMemGetInfo(&free_bytes, &total_bytes); status != cudaSuccess) return status;
  return call("cudaGetDeviceProperties", [&] {
    if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Emulated GPU");
    properties->uuid.bytes[15] = static_cast<char>(number_of(device));
    properties->totalGlobalMem = total_bytes;
    properties->sharedMemPerBlock = 48 << 10;
    std::tie(properties->major, properties->minor) = capability_of(number_of(device));
    properties->multiProcessorCount = kMultiprocessors;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->warpSize = 32;
    properties->l2CacheSize = 1 << 20;
    properties->memoryBusWidth = 64;
    properties->asyncEngineCount = 2;
    properties->pciBusID = number_of(device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call("cudaDeviceGetAttribute", [&] {
    if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
    static const std::map<cudaDeviceAttr, int> values = {
        {cudaDevAttrMaxThreadsPerBlock, 1024},  {cudaDevAttrClockRate, 1000000},
        {cudaDevAttrMemoryClockRate, 1000000},  {cudaDevAttrMultiProcessorCount, kMultiprocessors},
        {cudaDevAttrGlobalMemoryBusWidth, 64},  {cudaDevAttrL2CacheSize, 1 << 20},
        {cudaDevAttrComputeCapabilityMajor, 9}, {cudaDevAttrComputeCapabilityMinor, 0},
        {cudaDevAttrCooperativeLaunch, 1}};
    const auto found = values.find(attribute);
    if (found == values.end()) return cudaErrorInvalidValue;
    *value = found->second;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return call("cudaDeviceGetPCIBusId", [&] {
    if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", static_cast<unsigned>(number_of(device)));
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", [&] {
    *least = 0;
    *greatest = -5;
    return devices_status();
  });
}
