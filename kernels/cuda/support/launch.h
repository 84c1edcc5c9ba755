// Launches the kernels in this directory. A launch only enqueues: it allocates nothing and does not wait, so that it
// may be captured into a CUDA graph.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace eave::cuda {

inline constexpr int kBlock = 256;  // threads of a block, unless a kernel says otherwise

// Throws Error(kResource) with the kernel's name and the runtime's text if a launch was refused.
void check_launch(cudaError_t status, const char* kernel);

// Throws Error(kInternal) if a grid cannot have so many blocks.
dim3 grid_of(std::int64_t blocks);

inline std::int64_t blocks_for(std::int64_t threads) { return (threads + kBlock - 1) / kBlock; }

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
            const Arguments&... arguments) {
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = grid;
  configuration.blockDim = block;
  configuration.stream = stream;
  check_launch(cudaLaunchKernelEx(&configuration, kernel, static_cast<Parameters>(arguments)...), name);
}

}  // namespace eave::cuda

// EAVE_LAUNCH(kernel, grid, block, stream, arguments…). Put parentheses around a template with a comma in its
// arguments.
#define EAVE_LAUNCH(kernel, ...) ::eave::cuda::launch(#kernel, kernel, __VA_ARGS__)
