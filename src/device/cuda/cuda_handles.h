// The check that every call of the CUDA runtime goes through, and owners of its streams, events, graphs and memory.
// Destructors ignore errors: a device that has failed reports it in the next checked call.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <source_location>
#include <utility>

namespace eave::cuda {

// If `status` is a failure, throws Error(kResource) that names the call (`what`, such as "cudaMalloc"), its place in
// the source and the library's text.
void check_cuda(cudaError_t status, const char* what,
                const std::source_location& place = std::source_location::current());

#define EAVE_CUDA(call) ::eave::cuda::check_cuda((call), #call)

template <class Handle, cudaError_t (*kDestroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) static_cast<void>(kDestroy(handle_));
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using RecordedGraph = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

inline Stream make_stream() {
  cudaStream_t stream = nullptr;
  EAVE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return Stream(stream);
}

// A thread that waits for the event sleeps, because there are often more ranks than cores.
inline Event make_event() {
  cudaEvent_t event = nullptr;
  EAVE_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
  return Event(event);
}

// Any thread may ask. If another thread of the program captures a graph meanwhile, as PyTorch does, the question does
// not disturb that.
bool is_reached(cudaEvent_t event);

// Blocks until the event has been reached. It polls for a short time first: falling asleep and waking up may take as
// long as a step of a small network. (Not measured on a GPU yet.)
void await(cudaEvent_t event);

// Owned memory: bytes on the device, or pinned bytes on the host.
using DeviceBytes = Owned<void*, cudaFree>;
using HostBytes = Owned<void*, cudaFreeHost>;

inline DeviceBytes device_bytes(std::size_t size) {
  void* memory = nullptr;
  EAVE_CUDA(cudaMalloc(&memory, size));
  return DeviceBytes(memory);
}

inline HostBytes host_bytes(std::size_t size) {
  void* memory = nullptr;
  EAVE_CUDA(cudaMallocHost(&memory, size));
  return HostBytes(memory);
}

}  // namespace eave::cuda
