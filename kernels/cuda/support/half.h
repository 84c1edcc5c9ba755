// The 16-bit type of activations.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace eave::cuda {

using Half = __nv_bfloat16;

}  // namespace eave::cuda
