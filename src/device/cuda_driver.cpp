#include "device/cuda_driver.h"

#include <dlfcn.h>

#include <string>

#include "base/cuda_errors.h"
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

}  // namespace eave
