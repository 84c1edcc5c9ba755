// The driver of GPUs, asked without a header of CUDA and before the module for GPUs is in memory: libcuda.so.1 is a
// small library, and what the module brings is 200 MB.
#pragma once

namespace eave {

// Throws Error(kResource) unless there is a driver that starts, runs what was built with CUDA `toolkit` (12040 is 12.4)
// and shows a GPU.
void require_cuda_driver(int toolkit);

}  // namespace eave
