// Memory of the emulated devices and pinned memory of the host.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "state.h"

namespace eave::emulated_cuda {
namespace {

constexpr std::size_t kAlignment = 256;

struct Allocation {
  char* mapped = nullptr;
  std::size_t mapped_bytes = 0;
  std::size_t bytes = 0;
  int device = 0;
};

struct Memory {
  std::map<const char*, Allocation> device;  // by first byte
  std::map<const char*, std::size_t> pinned;
  std::map<int, std::size_t> used;  // bytes by device
  int open = 0;                     // nested users of device memory
  long long changes_beside_work = 0;
};

Memory& memory() {
  static auto* const all = new Memory;  // never destroyed, since other static objects free memory at exit
  return *all;
}

std::size_t device_bytes() {
  const char* text = std::getenv("EMULATED_CUDA_MEMORY");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::size_t{4} << 30;
}

// Bytes that other processes hold on each device.
std::size_t taken_bytes() {
  const char* const text = std::getenv("EMULATED_CUDA_TAKEN");
  return std::min(device_bytes(), text != nullptr ? std::size_t{std::strtoull(text, nullptr, 10)} : std::size_t{0});
}

std::size_t free_of(int device) {
  const std::size_t rest = device_bytes() - taken_bytes();
  return rest - std::min(rest, memory().used[device]);
}

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

void protect_all(int protection) {
  for (const auto& [first, allocation] : memory().device) {
    mprotect(allocation.mapped, allocation.mapped_bytes, protection);
  }
}

// The entry whose memory contains `pointer`, or map.end().
template <class Map, class Size>
typename Map::const_iterator holder(const Map& map, const void* pointer, Size size) {
  auto found = map.upper_bound(static_cast<const char*>(pointer));
  if (found == map.begin()) return map.end();
  --found;
  return static_cast<const char*>(pointer) < found->first + size(found->second) ? found : map.end();
}

auto find_device(const void* pointer) {
  return holder(memory().device, pointer, [](const Allocation& of) { return std::max<std::size_t>(of.bytes, 1); });
}
auto find_pinned(const void* pointer) {
  return holder(memory().pinned, pointer, [](std::size_t bytes) { return bytes; });
}

// Places the allocation at the end of its last page. An inaccessible page follows, so a write past the end is caught.
cudaError_t allocate(void** pointer, std::size_t bytes) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const int device = current_device();
  if (bytes > free_of(device)) return cudaErrorMemoryAllocation;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t usable = rounded_up(bytes, page);
  void* mapped = mmap(nullptr, usable + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return cudaErrorMemoryAllocation;
  mprotect(mapped, usable, PROT_READ | PROT_WRITE);
  std::memset(mapped, 0xff, usable);
  char* first = static_cast<char*>(mapped) + usable - rounded_up(bytes, kAlignment);
  if (memory().open == 0) mprotect(mapped, usable, PROT_NONE);
  memory().device[first] = {static_cast<char*>(mapped), usable, bytes, device};
  memory().used[device] += bytes;
  *pointer = first;
  return cudaSuccess;
}

// Ends the process if the bytes around the allocation, up to its pages' ends, have changed.
void check_margins(const char* first, const Allocation& of) {
  mprotect(of.mapped, of.mapped_bytes, PROT_READ);
  for (const char* byte = of.mapped; byte < of.mapped + of.mapped_bytes; ++byte) {
    if (byte == first) byte += of.bytes;
    if (byte == of.mapped + of.mapped_bytes) break;
    if (static_cast<unsigned char>(*byte) == 0xff) continue;
    std::fprintf(stderr, "emulated CUDA: something was written %td bytes from the begin of an allocation of %zu\n",
                 byte - first, of.bytes);
    std::abort();
  }
}

// Addresses are never reused, so that any use of a freed pointer dies of SIGSEGV.
cudaError_t release(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  const auto found = memory().device.find(static_cast<const char*>(pointer));
  if (found == memory().device.end()) return cudaErrorInvalidValue;
  run_everything();
  check_margins(found->first, found->second);
  const Allocation& of = found->second;
  memory().used[of.device] -= of.bytes;
  mmap(of.mapped, of.mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  memory().device.erase(found);
  return cudaSuccess;
}

cudaError_t allocate_pinned(void** pointer, std::size_t bytes) {
  *pointer = std::aligned_alloc(kAlignment, rounded_up(std::max<std::size_t>(bytes, 1), kAlignment));
  if (*pointer == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*pointer, 0xff, bytes);
  memory().pinned[static_cast<const char*>(*pointer)] = bytes;
  return cudaSuccess;
}

cudaError_t release_pinned(void* pointer, bool owned) {
  if (pointer == nullptr) return cudaSuccess;
  const auto found = memory().pinned.find(static_cast<const char*>(pointer));
  if (found == memory().pinned.end()) return cudaErrorInvalidValue;
  run_everything();
  memory().pinned.erase(found);
  if (owned) std::free(pointer);
  return cudaSuccess;
}

bool direction_fits(cudaMemcpyKind kind, bool from_device, bool into_device) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !from_device && !into_device;
    case cudaMemcpyHostToDevice:
      return !from_device && into_device;
    case cudaMemcpyDeviceToHost:
      return from_device && !into_device;
    case cudaMemcpyDeviceToDevice:
      return from_device && into_device;
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

cudaError_t copy(CUstream_st* stream, void* into, const void* from, std::size_t bytes, cudaMemcpyKind kind, bool wait) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (bytes == 0) return cudaSuccess;
  const Place source = place_of(from, bytes), target = place_of(into, bytes);
  if (source == Place::kOutside || target == Place::kOutside) return cudaErrorInvalidValue;
  if (!direction_fits(kind, source == Place::kDevice, target == Place::kDevice)) return cudaErrorInvalidValue;
  if (source == Place::kPageable && !stream->capture) {
    auto read = std::make_shared<std::string>(static_cast<const char*>(from), bytes);
    const Task task = push(*stream, [into, read] { std::memcpy(into, read->data(), read->size()); });
    if (wait || target != Place::kDevice) run(task);
    return cudaSuccess;
  }
  const Task task = push(*stream, [into, from, bytes] { std::memmove(into, from, bytes); });
  if (task && (wait || target == Place::kPageable)) run(task);
  return cudaSuccess;
}

cudaError_t set(CUstream_st* stream, void* into, int value, std::size_t bytes) {
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (bytes == 0) return cudaSuccess;
  if (place_of(into, bytes) != Place::kDevice) return cudaErrorInvalidValue;
  push(*stream, [into, value, bytes] { std::memset(into, value, bytes); });
  return cudaSuccess;
}

}  // namespace

bool is_full(int) { return taken_bytes() == device_bytes(); }

void with_device_memory(const std::function<void()>& body) {
  if (memory().open++ == 0) protect_all(PROT_READ | PROT_WRITE);
  body();
  if (--memory().open == 0) protect_all(PROT_NONE);
}

Place place_of(const void* pointer, std::size_t bytes) {
  const auto device = find_device(pointer);
  if (device != memory().device.end()) {
    const char* end = device->first + device->second.bytes;
    return bytes <= static_cast<std::size_t>(end - static_cast<const char*>(pointer)) ? Place::kDevice
                                                                                      : Place::kOutside;
  }
  return find_pinned(pointer) != memory().pinned.end() ? Place::kPinned : Place::kPageable;
}

long long memory_changes_beside_work() {
  const std::lock_guard guard(lock());
  return memory().changes_beside_work;
}

}  // namespace eave::emulated_cuda

using namespace eave::emulated_cuda;

namespace {

template <class Body>
cudaError_t call_outside_capture(const char* name, Body body) {
  return call(name, [&] {
    cudaError_t status = devices_status();
    if (status == cudaSuccess) status = refuse_in_capture();
    return status == cudaSuccess ? body() : status;
  });
}

template <class Body>
cudaError_t change_memory(const char* name, Body body) {
  return call_outside_capture(name, [&] {
    if (any_stream_has_work()) ++memory().changes_beside_work;
    return body();
  });
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return change_memory("cudaMalloc", [&] { return allocate(pointer, bytes); });
}
cudaError_t cudaFree(void* pointer) {
  return change_memory("cudaFree", [&] { return release(pointer); });
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return change_memory("cudaMallocHost", [&] { return allocate_pinned(pointer, bytes); });
}
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return change_memory("cudaHostAlloc", [&] { return allocate_pinned(pointer, bytes); });
}
cudaError_t cudaFreeHost(void* pointer) {
  return change_memory("cudaFreeHost", [&] { return release_pinned(pointer, true); });
}
cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  return call_outside_capture("cudaHostRegister", [&] {
    memory().pinned[static_cast<const char*>(pointer)] = bytes;
    return cudaSuccess;
  });
}
cudaError_t cudaHostUnregister(void* pointer) {
  return call_outside_capture("cudaHostUnregister", [&] { return release_pinned(pointer, false); });
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call("cudaMemGetInfo", [&] {
    if (const cudaError_t status = devices_status(); status != cudaSuccess) return status;
    *total_bytes = device_bytes();
    *free_bytes = free_of(current_device());
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call("cudaPointerGetAttributes", [&] {
    const Place place = place_of(pointer, 0);
    auto* const mutable_pointer = const_cast<void*>(pointer);
    if (place == Place::kDevice || place == Place::kOutside) {
      *attributes = {cudaMemoryTypeDevice, find_device(pointer)->second.device, mutable_pointer, nullptr};
    } else if (place == Place::kPinned) {
      *attributes = {cudaMemoryTypeHost, 0, mutable_pointer, mutable_pointer};
    } else {
      *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, mutable_pointer};
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* into, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] { return copy(find_stream(stream), into, from, bytes, kind, false); });
}
cudaError_t cudaMemcpy2DAsync(void* into, std::size_t into_row, const void* from, std::size_t from_row,
                              std::size_t bytes, std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpy2DAsync", [&] {
    if (bytes > into_row || bytes > from_row) return cudaErrorInvalidValue;
    for (std::size_t row = 0; row < rows; ++row) {
      char* const target = static_cast<char*>(into) + row * into_row;
      const char* const source = static_cast<const char*>(from) + row * from_row;
      const cudaError_t status = copy(find_stream(stream), target, source, bytes, kind, false);
      if (status != cudaSuccess) return status;
    }
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpy(void* into, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return call_outside_capture("cudaMemcpy", [&] {
    const bool within = place_of(from, bytes) == Place::kDevice && place_of(into, bytes) == Place::kDevice;
    return copy(find_stream(nullptr), into, from, bytes, kind, !within);
  });
}
cudaError_t cudaMemsetAsync(void* into, int value, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&] { return set(find_stream(stream), into, value, bytes); });
}
cudaError_t cudaMemset(void* into, int value, std::size_t bytes) {
  return call_outside_capture("cudaMemset", [&] { return set(find_stream(nullptr), into, value, bytes); });
}
