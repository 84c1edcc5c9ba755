#include "device/cuda_module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/cuda_errors.h"
#include "base/files/user_path.h"
#include "device/library_file.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr const char* kDriverLibrary = "libcuda.so.1";
constexpr int kNoDevice = 100;

Error no_gpu(const std::string& why, const std::string& advice) {
  return {ExitCode::kResource, "no GPU can be used: " + why + advice + ", or train with --device cpu"};
}

// Calls the driver's functions by name, so that the program does not link a library that only machines with GPUs have.
class Driver {
 public:
  Driver() {
    if (const std::string damage = why_library_is_damaged(kDriverLibrary); !damage.empty())
      throw no_gpu("the driver's library " + damage, "; install the NVIDIA driver again");
    library_ = dlopen(kDriverLibrary, RTLD_LAZY);
    if (library_ != nullptr) return;
    const std::string reason = dlerror();
    if (reason.starts_with(std::string(kDriverLibrary) + ": cannot open shared object file: No such file"))
      throw no_gpu("there is no NVIDIA driver here (libcuda.so.1)", "; install it");
    throw no_gpu("the driver's library cannot be opened: " + reason, "; install the NVIDIA driver again");
  }

  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr)
      throw no_gpu("the libcuda.so.1 that is found has no " + std::string(name),
                   ", so it is not NVIDIA's driver; look at LD_LIBRARY_PATH");
    return function(arguments...);
  }

  std::string name_of(int error) const {
    const char* name = nullptr;
    using Function = int (*)(int, const char**);
    const auto function = reinterpret_cast<Function>(dlsym(library_, "cuGetErrorName"));
    if (function == nullptr || function(error, &name) != 0 || name == nullptr) return "error " + std::to_string(error);
    return std::string(name) + ", error " + std::to_string(error);
  }

 private:
  void* library_ = nullptr;  // never closed
};

namespace fs = std::filesystem;

const char* named_module() { return std::getenv("LIBEAVE_CUDA"); }

// The folder of libeave.so, if the calling program uses that library. In a program of eave itself, the file name may be
// relative and is then useless; the result is empty.
fs::path library_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&named_module), &info) == 0 || info.dli_fname == nullptr) return {};
  const fs::path file = info.dli_fname;
  return file.is_absolute() ? file.parent_path() : fs::path();
}

// Candidates, in this order: beside the program (build tree), in the library folder (installed), beside libeave.so.
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
  const std::string place = places().front().string();
  if (named_module() != nullptr) {
    throw Error(ExitCode::kResource,
                "LIBEAVE_CUDA names " + place + ", which is not there; unset it, or train with --device cpu");
  }
  throw Error(ExitCode::kResource, "this eave was built without GPUs: there is no " + place +
                                       "; build it with cmake --preset cuda, or train with --device cpu");
}

[[noreturn]] void fail_to_open(const std::string& reason, const std::string& advice) {
  throw Error(ExitCode::kResource,
              "the module for GPUs cannot be opened: " + reason + "; " + advice + ", or train with --device cpu");
}

struct NeededLibrary {
  const char* file;    // start of the file name
  const char* symbol;  // start of its functions' names
  const char* product;
};
constexpr NeededLibrary kNeededLibraries[] = {{"libcudnn.so.", "cudnn", "cuDNN"},
                                              {"libnccl.so.", "nccl", "NCCL"},
                                              {"libcublasLt.so.", "cublas", "cuBLAS"},
                                              {"libcudart.so.", "cuda", "the CUDA runtime"},
                                              {"libcuda.so.", "cu", "the NVIDIA driver"}};

// Names the versions of a library that are installed while the wanted one is missing.
std::string other_versions(const fs::path& module, const std::string& start) {
  std::string text;
  for (const fs::path& other : libraries_named(module, start)) text += (text.empty() ? "" : ", ") + other.string();
  return text.empty() ? "" : " (there is " + text + ", of another version)";
}

// The loader's message names a file or a function. This adds the product that it belongs to, and what to do.
[[noreturn]] void explain_loader(const fs::path& path, const std::string& reason) {
  for (const NeededLibrary& each : kNeededLibraries) {
    if (reason.starts_with(each.file) && reason.find("No such file") != std::string::npos) {
      fail_to_open(reason + other_versions(path, each.file),
                   "install " + std::string(each.product) +
                       " of that version, or put its folder into LD_LIBRARY_PATH (mpi_launch/install_cuda brings it)");
    }
  }
  constexpr std::string_view kUndefined = "undefined symbol: ";
  const std::size_t at = reason.find(kUndefined);
  const std::string symbol = at == std::string::npos ? "" : reason.substr(at + kUndefined.size());
  for (const NeededLibrary& each : kNeededLibraries) {
    if (symbol.starts_with(each.symbol))
      fail_to_open(reason,
                   "the version of " + std::string(each.product) + " that is found is too old: install a newer one");
  }
  fail_to_open(reason, "install what it needs");
}

const CudaModule* open_module(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) fail_to_open(path.string() + " is not a file", "build eave again");
  // A module named by LIBEAVE_CUDA may need no driver.
  if (named_module() == nullptr) require_cuda_driver(EAVE_CUDA_TOOLKIT);
  if (const std::string damage = why_library_is_damaged(path); !damage.empty())
    fail_to_open(damage, "install it again");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) explain_loader(path, dlerror());
  using Entry = const CudaModule* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kCudaModuleEntry));
  const CudaModule* module = entry == nullptr ? nullptr : entry();
  if (module == nullptr || module->version != kCudaModuleVersion) {
    throw Error(ExitCode::kResource, path.string() + " does not belong to this eave; build both together");
  }
  return module;
}

}  // namespace

void require_cuda_driver(int toolkit) {
  static const Driver driver;
  int version = 0, devices = 0;
  if (driver.call("cuDriverGetVersion", &version) == 0 && version > 0) {
    if (const std::string why = why_driver_is_too_old(version, toolkit); !why.empty()) throw no_gpu(why, "");
  }
  int status = driver.call("cuInit", 0u);
  if (status == 0) status = driver.call("cuDeviceGetCount", &devices);
  if (status == kNoDevice || (status == 0 && devices == 0)) throw Error(ExitCode::kResource, no_gpu_is_seen());
  if (status == 0) return;
  const std::string advice = advice_for_cuda_error(status);
  throw no_gpu("the driver does not start (" + driver.name_of(status) + ")",
               advice.empty() ? "; see whether nvidia-smi works on this host" : advice);
}

bool has_cuda_module() { return !find_module().empty(); }

const CudaModule& open_cuda_module() {
  static const CudaModule* const module = open_module(require_module());
  return *module;
}

std::unique_ptr<Device> gpu_device(std::int64_t number) {
  const std::vector<FoundGpu> gpus = open_cuda_module().list_devices();
  if (number < 0 || number >= std::ssize(gpus)) {
    throw Error(ExitCode::kUsage, "gpu=" + std::to_string(number) + ": this process sees " +
                                      std::to_string(gpus.size()) + (gpus.size() == 1 ? " GPU" : " GPUs") +
                                      ", counted from 0");
  }
  const FoundGpu& gpu = gpus[static_cast<std::size_t>(number)];
  if (!gpu.unfit.empty())
    throw Error(ExitCode::kResource,
                "gpu=" + std::to_string(number) + ": " + gpu.unfit + "; use another, or device=cpu");
  return open_cuda_module().open_device(static_cast<int>(number));
}

}  // namespace eave
