// Versions of NVIDIA's libraries. A program runs with the library version that it was built with, or with a later minor
// version of the same major version.
#pragma once

namespace eave::cuda {

struct LibraryVersion {
  int major_number = 0, minor_number = 0, patch = 0;
};

// Unpacks the number in which cuDNN and NCCL give their version: 91900 is 9.19.0. Before cuDNN 9 and NCCL 2.9 the major
// version counted thousands.
LibraryVersion unpack_version(long long packed);

// Throws Error(kResource) if `found` does not fit `built`. The message names both versions, and ends with "; " and
// `advice`.
void require_version(const char* library, long long found, long long built, const char* advice);

// Throws Error(kResource) if the loaded cuDNN does not fit this eave or its CUDA version.
void require_cudnn_version();

}  // namespace eave::cuda
