// Emulates on the CPU the part of the CUDA runtime that eave uses, to test GPU code on machines without a GPU. The C++
// compiler compiles the same .cu files. Blocks run one after the other. Threads of a block that wait for each other run
// as fibers.
//
// It is stricter than a GPU, so that mistakes which a GPU mostly forgives show each time:
// - Streams are lazy. Work runs only when a call waits for it (synchronize, query, a blocking copy), together with the
//   work that it depends on, and nothing else. If an event is missing, or host memory is reused too early, results are
//   wrong.
// - A query returns cudaErrorNotReady once, and then runs the work that it was asked about.
// - Device memory is accessible only while device work runs. If the host dereferences it, the process dies of SIGSEGV.
//   So does a use after cudaFree or past the end. New device memory and shared memory are filled with NaN (all bits
//   set), except the shared memory of kernel templates, which the compiler puts into another section.
// - Kernels run their threads and blocks forwards and backwards in turn. A kernel that depends on their order is wrong
//   in one of the two.
// - If some threads of a block wait in __syncthreads and others have ended, the process stops.
// - While a stream is captured (except in relaxed mode), a call that could break the capture is refused and invalidates
//   it.
// A copy from pageable host memory reads it at the call, as CUDA does; if captured, it reads it when the graph runs.
//
// Environment, read at each call:
//   EMULATED_CUDA_DEVICES   number of devices (default 1). 0: cudaErrorNoDevice. -1: cudaErrorInsufficientDriver.
//                           If it is set, CUDA_VISIBLE_DEVICES chooses among the devices by number. As in CUDA, the
//                           first word that names no device ends the list. GPU-1 and MIG-1-x mean GPU 1.
//   EMULATED_CUDA_DRIVER    version of the driver in CUDA's notation (default 13000).
//   EMULATED_CUDA_CAPABILITY  compute capability of each device, as in "9.0,7.0" (default 9.0). The last one holds for
//                           all further devices.
//   EMULATED_CUDA_MEMORY    bytes of each device (default 4 GiB).
//   EMULATED_CUDA_TAKEN     bytes of each device that other processes hold (default 0).
//   EMULATED_CUDA_FAIL      "cudaMalloc:3:2": the third call of cudaMalloc (counted from the start) returns error 2.
//                           "cudaGraphLaunch:3:719:lasting": and so does every call after it, as on a broken GPU.
//                           "1/cudaGraphLaunch:3:719": the third call on GPU 1 only, by the machine's number.
//                           Commas separate several. The launch of a kernel is called cudaLaunchKernel.
// Host threads may call it at the same time: each call holds one lock, also while kernels run.
#pragma once

#include <functional>

#include "cuda_runtime_api.h"

struct dim3;

namespace eave::emulated_cuda {

cudaError_t launch_kernel(const dim3& grid, const dim3& block, cudaStream_t stream, std::function<void()> thread);

// Enqueues a host function that may access device memory, as a kernel does.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

// The integer in environment variable `name`, or `otherwise` if it is not set.
int number_in(const char* name, int otherwise);

// The number of kernels, copies, fills and host functions that have run since the process began.
long long operations_run();

// How often since the process began a call allocated or freed device memory or pinned memory while any stream had work.
// A real GPU may freeze if that work is NCCL's.
long long memory_changes_beside_work();

}  // namespace eave::emulated_cuda
