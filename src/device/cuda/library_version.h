// Versions of NVIDIA's libraries: a program runs with the minor version that it was built with or a later one, not with
// an older one or another major one.
#pragma once

namespace eave::cuda {

struct LibraryVersion {
  int major_number = 0, minor_number = 0, patch = 0;
};

// From the one number in which cuDNN and NCCL give it: 91900 is 9.19.0. Before cuDNN 9 and NCCL 2.9 the major number
// counted thousands.
LibraryVersion unpack_version(long long packed);

// Throws Error(kResource) that names both versions, and `advice` after "; ".
void require_version(const char* library, long long found, long long built, const char* advice);

// Throws Error(kResource) if the cuDNN that is loaded is not one for this eave and its CUDA.
void require_cudnn_version();

}  // namespace eave::cuda
