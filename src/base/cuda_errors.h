// Messages about CUDA's drivers and errors, for code with and without CUDA's headers.
#pragma once

#include <filesystem>
#include <string>

namespace eave {

// Returns "12.4" for 12040, which is how CUDA numbers versions.
std::string cuda_version_text(int version);

// Returns "" if a driver of CUDA `driver` runs code built with CUDA `toolkit`. Otherwise says what was found, what is
// needed, and what to do. A driver runs code built with its own or an older major version of CUDA.
std::string why_driver_is_too_old(int driver, int toolkit);

// Returns what to do about an error of CUDA, as text that begins with "; ". Returns "" if there is nothing to say.
// CUresult and cudaError_t use the same numbers.
std::string advice_for_cuda_error(int error);

// The message if the driver shows no GPU.
std::string no_gpu_is_seen();

// The release of the kernel's driver module, such as "550.54.14"; "" if it is not known.
std::string driver_release(const std::filesystem::path& file = "/sys/module/nvidia/version");

}  // namespace eave
