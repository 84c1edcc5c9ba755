// Checks the NVIDIA driver before the module for GPUs is loaded, and without CUDA headers. libcuda.so.1 is a small
// library. The module loads 200 MB of libraries.
#pragma once

namespace eave {

// Throws Error(kResource) unless a driver is installed that starts, shows at least one GPU and can run programs built
// with CUDA `toolkit` (12040 means 12.4).
void require_cuda_driver(int toolkit);

}  // namespace eave
