// Libraries that make 0 of NaN in relu, as a GPU's max does and as cuDNN 9 may whatever it is told.
#pragma once

#include <cstdlib>
#include <string>

namespace eave::emulated_cuda {

// Whether the environment's EMULATED_NAN_DROPPED_BY names it, as "cudnn0,cudnn1,cublas0": engines of cuDNN and
// algorithms of cuBLASLt by their numbers. Read at each call.
inline bool drops_nan(const std::string& name) {
  const char* const named = std::getenv("EMULATED_NAN_DROPPED_BY");
  return named != nullptr && ("," + std::string(named) + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace eave::emulated_cuda
