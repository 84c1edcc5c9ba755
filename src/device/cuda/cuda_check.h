// Every call of the CUDA runtime goes through this.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace eave::cuda {

// Throws Error(kResource) that names the call, its place and the library's text. `what`: "cudaMalloc".
void check_cuda(cudaError_t status, const char* what,
                const std::source_location& place = std::source_location::current());

}  // namespace eave::cuda

#define EAVE_CUDA(call) ::eave::cuda::check_cuda((call), #call)
