#include "device/cuda_module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/user_path.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

const char* named_module() { return std::getenv("LIBEAVE_CUDA"); }

// Where libeave.so is, in a program that uses it. A program's own name may be relative, and is no place then.
fs::path library_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&named_module), &info) == 0 || info.dli_fname == nullptr) return {};
  const fs::path file = info.dli_fname;
  return file.is_absolute() ? file.parent_path() : fs::path();
}

// Beside the program, as it is built; as it is installed; beside libeave.so.
std::vector<fs::path> places() {
  if (const char* const named = named_module()) return {read_path(named).value.value_or(named)};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> directories = {program, program.parent_path() / EAVE_LIBRARY_DIRECTORY};
  if (const fs::path own = library_directory(); !own.empty()) directories.push_back(own);
  for (fs::path& directory : directories) directory /= "libeave_cuda.so";
  return directories;
}

fs::path find_module() {
  for (const fs::path& place : places()) {
    std::error_code error;
    if (fs::exists(place, error)) return place;
  }
  return {};
}

fs::path require_module() {
  const fs::path path = find_module();
  if (!path.empty()) return path;
  throw Error(ExitCode::kResource, "this eave was built without GPUs: there is no " + places().front().string() +
                                       "; build it with cmake --preset cuda, or train with --device cpu");
}

// The module has it asked for too, but with all its libraries in memory.
void require_driver() {
  if (named_module() != nullptr || dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) return;
  throw Error(
      ExitCode::kResource,
      "no GPU can be used: there is no NVIDIA driver here (libcuda.so.1); install it, or train with --device cpu");
}

const CudaModule* open_module(const fs::path& path) {
  require_driver();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ExitCode::kResource, "the module for GPUs cannot be opened: " + std::string(dlerror()) +
                                         "; install what it needs, or train with --device cpu");
  }
  using Entry = const CudaModule* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kCudaModuleEntry));
  const CudaModule* module = entry == nullptr ? nullptr : entry();
  if (module == nullptr || module->version != kCudaModuleVersion) {
    throw Error(ExitCode::kResource, path.string() + " does not belong to this eave; build both together");
  }
  return module;
}

}  // namespace

bool has_cuda_module() { return !find_module().empty(); }

const CudaModule& open_cuda_module() {
  static const CudaModule* const module = open_module(require_module());
  return *module;
}

std::unique_ptr<Device> gpu_device(std::int64_t number) {
  const std::size_t gpus = open_cuda_module().list_devices().size();
  if (number >= 0 && static_cast<std::size_t>(number) < gpus)
    return open_cuda_module().open_device(static_cast<int>(number));
  throw Error(ExitCode::kUsage, "gpu=" + std::to_string(number) + ": this process sees " + std::to_string(gpus) +
                                    (gpus == 1 ? " GPU" : " GPUs") + ", counted from 0");
}

}  // namespace eave
