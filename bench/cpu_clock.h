// CPU time of this process. On a busy machine it says more about the work done than wall-clock time.
#pragma once

#include <ctime>

namespace eave::bench {

// Seconds of CPU time of all threads of this process.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace eave::bench
