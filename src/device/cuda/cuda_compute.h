// Compute on a GPU. Convolutions and dense layers use cuDNN and cuBLASLt (plans.h), everything else uses kernels/cuda.
// Passes are replayed as CUDA graphs.
#pragma once

#include <memory>

#include "device/cuda/cuda_device.h"
#include "device/cuda_module.h"

namespace eave::cuda {

std::unique_ptr<Compute> make_cuda_compute(CudaDevice& device, const CudaSettings& settings);

}  // namespace eave::cuda
