#include "kernels/cuda/support/launch.h"

#include <limits>
#include <string>

#include "base/cuda_errors.h"
#include "eave/check.h"

namespace eave::cuda {

void check_launch(cudaError_t status, const char* kernel) {
  if (status == cudaSuccess) return;
  throw Error(ExitCode::kResource, std::string("CUDA, launch of ") + kernel + ": " + cudaGetErrorString(status) + " (" +
                                       cudaGetErrorName(status) + ")" + advice_for_cuda_error(status));
}

dim3 grid_of(std::int64_t blocks) {
  EAVE_CHECK(blocks > 0 && blocks <= std::numeric_limits<std::int32_t>::max(), std::to_string(blocks) + " blocks");
  return dim3(static_cast<unsigned>(blocks));
}

}  // namespace eave::cuda
