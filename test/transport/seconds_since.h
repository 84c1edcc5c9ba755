// Measures elapsed time, for tests that compare times with bounds.
#pragma once

#include <chrono>

namespace eave {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace eave
