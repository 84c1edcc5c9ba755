// Compute on a GPU: cuDNN and cuBLASLt by plans.h, the rest by kernels/cuda, passes as CUDA graphs.
#pragma once

#include <memory>

#include "device/cuda/cuda_device.h"
#include "device/cuda_module.h"

namespace eave::cuda {

std::unique_ptr<Compute> make_cuda_compute(CudaDevice& device, const CudaSettings& settings);

}  // namespace eave::cuda
