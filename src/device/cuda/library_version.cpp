#include "device/cuda/library_version.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <string>

#include "eave/check.h"

namespace eave::cuda {
namespace {

std::string text_of(const LibraryVersion& version) {
  return std::to_string(version.major_number) + "." + std::to_string(version.minor_number) + "." +
         std::to_string(version.patch);
}

}  // namespace

LibraryVersion unpack_version(long long packed) {
  const long long unit = packed < 10000 ? 1000 : 10000;
  return {static_cast<int>(packed / unit), static_cast<int>(packed % unit / 100), static_cast<int>(packed % 100)};
}

void require_version(const char* library, long long found, long long built, const char* advice) {
  const LibraryVersion here = unpack_version(found), wanted = unpack_version(built);
  if (here.major_number == wanted.major_number && here.minor_number >= wanted.minor_number) return;
  throw Error(ExitCode::kResource,
              std::string(library) + " " + text_of(here) + " is found, and this eave was built with " +
                  text_of(wanted) + ", which needs " + std::to_string(wanted.major_number) + "." +
                  std::to_string(wanted.minor_number) + " or a later " + std::to_string(wanted.major_number) +
                  ".x; install that, or look at LD_LIBRARY_PATH, where another may come first; " + advice);
}

void require_cudnn_version() {
  constexpr const char* kElse = "or build eave with the one that is found, or train with --device cpu";
  require_version("no GPU can be used: cuDNN", static_cast<long long>(cudnnGetVersion()), CUDNN_VERSION, kElse);
  const auto cuda = static_cast<int>(cudnnGetCudartVersion() / 1000);
  if (cuda == CUDART_VERSION / 1000) return;
  throw Error(ExitCode::kResource, "no GPU can be used: the cuDNN that is found is for CUDA " + std::to_string(cuda) +
                                       ", and this eave was built with CUDA " + std::to_string(CUDART_VERSION / 1000) +
                                       "; install cuDNN for that, or look at LD_LIBRARY_PATH, where another may come "
                                       "first; or train with --device cpu");
}

}  // namespace eave::cuda
