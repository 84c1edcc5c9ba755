#include "device/cuda/cuda_check.h"

#include <filesystem>
#include <string>

#include "base/cuda_errors.h"
#include "eave/check.h"

namespace eave::cuda {

void check_cuda(cudaError_t status, const char* what, const std::source_location& place) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error: the runtime keeps it, and the next check would take it for its own
  const std::string file = std::filesystem::path(place.file_name()).filename();
  throw Error(ExitCode::kResource, "CUDA, " + std::string(what) + " (" + file + ":" + std::to_string(place.line()) +
                                       "): " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")" +
                                       advice_for_cuda_error(status));
}

}  // namespace eave::cuda
