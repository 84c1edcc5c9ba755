// Texts about drivers and errors of CUDA, for code with and without its headers.
#pragma once

#include <filesystem>
#include <string>

namespace eave {

// "12.4" for 12040, as CUDA writes versions.
std::string cuda_version_text(int version);

// "" if a driver of CUDA `driver` runs what was built with CUDA `toolkit`. Else what was found, what is needed, and
// what to do. A driver runs all that was built with its own major version of CUDA or an older one.
std::string why_driver_is_too_old(int driver, int toolkit);

// What to do about an error of CUDA, after "; "; "" if there is nothing to say. The same numbers mean the same in
// CUresult and cudaError_t.
std::string advice_for_cuda_error(int error);

// What a person reads if the driver shows no GPU.
std::string no_gpu_is_seen();

// "550.54.14", as the kernel's module says it; "" if it does not.
std::string driver_release(const std::filesystem::path& file = "/sys/module/nvidia/version");

}  // namespace eave
