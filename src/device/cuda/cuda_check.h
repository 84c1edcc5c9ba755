// The check that every call of the CUDA runtime goes through.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace eave::cuda {

// If `status` is a failure, throws Error(kResource) that names the call (`what`, such as "cudaMalloc"), its place in
// the source and the library's text.
void check_cuda(cudaError_t status, const char* what,
                const std::source_location& place = std::source_location::current());

}  // namespace eave::cuda

#define EAVE_CUDA(call) ::eave::cuda::check_cuda((call), #call)
