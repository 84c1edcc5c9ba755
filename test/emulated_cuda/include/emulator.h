// The part of the CUDA runtime that eave uses, on the CPU: for tests of code written for GPUs where there is none. The
// same .cu files are compiled by the C++ compiler; blocks run one after the other, the threads of a block as fibers
// where they wait for each other.
//
// It is stricter than a GPU, so that mistakes which a GPU forgives most of the time show each time:
// - Streams are lazy. Nothing runs until something waits for it (synchronize, query, a copy that returns when done),
// and
//   then only what was waited for, with what that depends on. Where an event is missing, or memory of the host is used
//   again too early, numbers are wrong.
// - A query says cudaErrorNotReady once, and then runs what was asked about.
// - Device memory cannot be touched while no device runs: dereferenced on the host, the process dies of SIGSEGV, as it
//   does where memory is used after cudaFree or beyond its end. New memory is filled with NaN (all bits set), and
//   so is what blocks share (but for templates, which the compiler puts elsewhere).
// - Kernels run forwards and backwards in turn, threads and blocks: what depends on their order is wrong in one of
// both.
// - A block where some threads wait in __syncthreads and others have ended stops the process.
// - While a stream is captured (but for the relaxed mode), what could break a capture is refused, and invalidates it.
// Copies from pageable memory of the host read it at once, as CUDA does, or, captured, when the graph runs.
//
// Environment, read at each call:
//   EMULATED_CUDA_DEVICES   number of devices; 1. 0: cudaErrorNoDevice. -1: cudaErrorInsufficientDriver.
//                           Where it is set, CUDA_VISIBLE_DEVICES chooses among them, by numbers; the first word
//                           that is not one of theirs ends the list, as in CUDA. GPU-1 and MIG-1-x mean GPU 1.
//   EMULATED_CUDA_DRIVER    version of the driver, as CUDA writes it; 13000.
//   EMULATED_CUDA_CAPABILITY  compute capability of each device, "9.0,7.0"; the last is that of all others; 9.0.
//   EMULATED_CUDA_MEMORY    bytes of each device; 4 GiB.
//   EMULATED_CUDA_TAKEN     how many of them other processes hold; 0.
//   EMULATED_CUDA_FAIL      "cudaMalloc:3:2": the third call of cudaMalloc (counted from the start) returns error 2.
//                           "cudaGraphLaunch:3:719:lasting": and so does every call after it, as on a GPU that fails.
//                           "1/cudaGraphLaunch:3:719": the third on GPU 1 only, by its number among all.
//                           Several, separated by commas. A kernel's launch is cudaLaunchKernel.
// Threads of the host may call it at the same time: each call holds one lock, also while kernels run.
#pragma once

#include <functional>

#include "cuda_runtime_api.h"

struct dim3;

namespace eave::emulated_cuda {

cudaError_t launch_kernel(const dim3& grid, const dim3& block, cudaStream_t stream, std::function<void()> thread);

// Enqueues work on the host's CPU that may touch device memory, as a kernel does.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

// A whole number in the environment.
int number_in(const char* name, int otherwise);

// Kernels, copies, fills and host functions that have run since the process began.
long long operations_run();

// How often memory, of the device or pinned, was allocated or freed since the process began while any stream had work:
// a GPU may freeze if the work is NCCL's.
long long memory_changes_beside_work();

}  // namespace eave::emulated_cuda
