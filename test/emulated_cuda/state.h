// The state of the emulator. Callers hold the lock for everything here.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator.h"

namespace eave::emulated_cuda {

// A piece of device work, and the operations that must be done before it.
struct Operation {
  std::function<void()> work;  // may be empty
  std::vector<std::shared_ptr<Operation>> needs;
  bool done = false;
  std::chrono::steady_clock::time_point done_at;
};
using Task = std::shared_ptr<Operation>;

struct Node {
  std::function<void()> work;
  std::vector<std::size_t> needs;  // earlier nodes
};

struct Capture {
  CUstream_st* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  const void* thread = nullptr;
  bool valid = true;
  std::vector<Node> nodes;
};

}  // namespace eave::emulated_cuda

struct CUstream_st {
  int device = 0;
  bool blocking = true;
  eave::emulated_cuda::Task last;
  std::shared_ptr<eave::emulated_cuda::Capture> capture;  // nullptr: none
  std::vector<std::size_t> captured_last;                 // nodes that must precede the next one
};

struct CUevent_st {
  bool timing = true;
  eave::emulated_cuda::Task task;                         // nullptr: never recorded
  std::shared_ptr<eave::emulated_cuda::Capture> capture;  // nullptr: not recorded in a capture
  std::vector<std::size_t> captured_last;
};

struct CUgraph_st {
  std::vector<eave::emulated_cuda::Node> nodes;
};

struct CUgraphExec_st {
  std::vector<eave::emulated_cuda::Node> nodes;
  eave::emulated_cuda::Task last;  // launches of one executable run one after the other
};

namespace eave::emulated_cuda {

std::mutex& lock();
int current_device();
int device_count();
cudaError_t devices_status();
bool is_full(int device);  // whether other processes hold all of its memory
// The error that EMULATED_CUDA_FAIL asks for in this call, or cudaSuccess if it names no such call.
cudaError_t injected_failure(const char* call);
cudaError_t remember_error(cudaError_t status);

// Every function of the runtime runs its body through this: with the lock held, and with injected failures.
template <class Body>
cudaError_t call(const char* name, Body body) {
  const std::lock_guard guard(lock());
  const cudaError_t injected = injected_failure(name);
  return remember_error(injected == cudaSuccess ? body() : injected);
}

// Memory. with_device_memory makes device memory accessible while `body` runs.
void with_device_memory(const std::function<void()>& body);
enum class Place { kDevice, kPinned, kPageable, kOutside };  // kOutside: begins in device memory, ends outside it
Place place_of(const void* pointer, std::size_t bytes);

// Streams. If `stream` is nullptr, find_stream returns the device's default stream. It returns nullptr if there is no
// such stream.
CUstream_st* find_stream(cudaStream_t stream);
bool is_event(cudaEvent_t event);
const std::vector<std::unique_ptr<CUstream_st>>& all_streams();
// Enqueues `work`, or adds it to the capture if the stream is being captured.
Task push(CUstream_st& stream, std::function<void()> work, std::vector<Task> also_needs = {});
void run(const Task& task);
void run_everything();
bool any_stream_has_work();

// Capture.
const void* this_thread();
// For calls that wait or allocate. If a capture forbids them to this thread, returns cudaErrorStreamCaptureUnsupported
// and invalidates the capture.
cudaError_t refuse_in_capture();
cudaError_t lose(Capture& capture);

// Runs a kernel: calls `thread` once for each thread of each block.
void run_blocks(const dim3& grid, const dim3& block, const std::function<void()>& thread);

}  // namespace eave::emulated_cuda
