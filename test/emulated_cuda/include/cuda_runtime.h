// Stands in for the header that .cu files include. It has the keywords of CUDA C++ that eave's kernels use, and the
// runtime's templates.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "cuda_runtime_api.h"
#include "emulator.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// One block runs at a time, so static variables can hold its shared memory. They lie in one section, which the emulator
// fills with NaN before a kernel runs. GCC 14 lets no variable of a template share a section with others. So GCC gets a
// name of its own for each variable, whose end the assembler reads as a comment.
#if defined(__GNUC__) && !defined(__clang__)
#define EMULATED_TEXT(number) #number
#define EMULATED_SECTION(number) "emulated_shared,\"aw\",%progbits\n# variable " EMULATED_TEXT(number)
#else
#define EMULATED_SECTION(number) "emulated_shared"
#endif
#define __shared__ static __attribute__((section(EMULATED_SECTION(__COUNTER__))))

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
// CUDA's store with a cache hint; the emulator ignores the hint.
template <class T>
void __stwb(T* into, T value) {
  *into = value;
}

// The indices of the emulated thread that runs now.
extern dim3 threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();

using std::isfinite;
using std::max;
using std::min;

template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaSuccess) *pointer = static_cast<T*>(memory);
  return status;
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMallocHost(&memory, bytes);
  if (status == cudaSuccess) *pointer = static_cast<T*>(memory);
  return status;
}

struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

// Copies the arguments at the call, as CUDA does.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* launch, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  std::tuple<std::decay_t<Parameters>...> copies(std::forward<Arguments>(arguments)...);
  return eave::emulated_cuda::launch_kernel(launch->gridDim, launch->blockDim, launch->stream,
                                            [kernel, copies] { std::apply(kernel, copies); });
}
