// Makes an emulated library turn NaN into 0 in relu, as a GPU's max does. cuDNN 9 may do so whatever it is told.
#pragma once

#include <cstdlib>
#include <string>

namespace eave::emulated_cuda {

// Whether EMULATED_NAN_DROPPED_BY, such as "cudnn0,cudnn1,cublas0", lists `name`: an engine of cuDNN or an algorithm of
// cuBLASLt with its number. Reads the environment at each call.
inline bool drops_nan(const std::string& name) {
  const char* const named = std::getenv("EMULATED_NAN_DROPPED_BY");
  return named != nullptr && ("," + std::string(named) + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace eave::emulated_cuda
