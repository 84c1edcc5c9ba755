// Runs the threads of blocks. One fiber runs one thread after the other. Only if a thread waits in __syncthreads does
// another fiber run the threads after it. A kernel without __syncthreads thus costs no more than a loop.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "cuda_runtime.h"
#include "fiber.h"
#include "state.h"

dim3 threadIdx, blockIdx, blockDim, gridDim;

// The bounds of the section into which the linker puts __shared__ variables; nullptr if there are none.
extern "C" __attribute__((weak, visibility("hidden"))) char __start_emulated_shared[], __stop_emulated_shared[];

namespace eave::emulated_cuda {
namespace {

struct Waiting {
  Fiber* fiber;
  dim3 thread;
};

struct Block {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;
  Fiber* running = nullptr;
  std::vector<Waiting> waiting;
  const std::function<void()>* thread = nullptr;
  unsigned next = 0, threads = 0;
  bool backwards = false;
};

Block& block() {
  static auto* const one = new Block;
  return *one;
}

void run_threads() {
  Block& b = block();
  while (b.next < b.threads) {
    const unsigned turn = b.next++, i = b.backwards ? b.threads - 1 - turn : turn;
    threadIdx = dim3(i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y);
    (*b.thread)();
  }
  b.idle.push_back(b.running);
  Fiber::suspend();
}

Fiber* idle_fiber() {
  Block& b = block();
  if (b.idle.empty()) {
    b.fibers.push_back(std::make_unique<Fiber>(run_threads));
    return b.fibers.back().get();
  }
  Fiber* const fiber = b.idle.back();
  b.idle.pop_back();
  return fiber;
}

void resume(Fiber* fiber) {
  block().running = fiber;
  fiber->resume();
}

void run_block() {
  Block& b = block();
  b.next = 0;
  while (b.next < b.threads) resume(idle_fiber());
  while (!b.waiting.empty()) {
    if (b.waiting.size() != b.threads) {
      std::fprintf(stderr, "emulated CUDA: %zu threads of a block wait in __syncthreads, %zu have ended\n",
                   b.waiting.size(), b.threads - b.waiting.size());
      std::abort();
    }
    for (const Waiting& each : std::exchange(b.waiting, {})) {
      threadIdx = each.thread;
      resume(each.fiber);
    }
  }
}

bool fits(const dim3& grid, const dim3& block) {
  const unsigned long long threads = 1ull * block.x * block.y * block.z;
  return threads > 0 && threads <= 1024 && block.z <= 64 && grid.x > 0 && grid.x <= 0x7fffffff && grid.y > 0 &&
         grid.y <= 65535 && grid.z > 0 && grid.z <= 65535;
}

}  // namespace

void run_blocks(const dim3& grid, const dim3& size, const std::function<void()>& thread) {
  char* const shared = __start_emulated_shared;
  if (shared != nullptr) std::memset(shared, 0xff, static_cast<std::size_t>(__stop_emulated_shared - shared));
  gridDim = grid;
  blockDim = size;
  block().thread = &thread;
  block().threads = size.x * size.y * size.z;
  block().backwards = !block().backwards;
  const unsigned long long blocks = 1ull * grid.x * grid.y * grid.z;
  for (unsigned long long turn = 0; turn < blocks; ++turn) {
    const unsigned long long i = block().backwards ? blocks - 1 - turn : turn;
    const auto x = static_cast<unsigned>(i % grid.x), y = static_cast<unsigned>(i / grid.x % grid.y);
    blockIdx = dim3(x, y, static_cast<unsigned>(i / grid.x / grid.y));
    run_block();
  }
}

cudaError_t launch_kernel(const dim3& grid, const dim3& size, cudaStream_t stream, std::function<void()> thread) {
  return call("cudaLaunchKernel", [&] {
    CUstream_st* const found = find_stream(stream);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    if (!fits(grid, size)) return cudaErrorInvalidConfiguration;
    push(*found, [grid, size, thread = std::move(thread)] { run_blocks(grid, size, thread); });
    return cudaSuccess;
  });
}

}  // namespace eave::emulated_cuda

void __syncthreads() {
  auto& b = eave::emulated_cuda::block();
  b.waiting.push_back({b.running, threadIdx});
  eave::emulated_cuda::Fiber::suspend();
}
