// Measures elapsed time and processor time, for tests that compare times with bounds.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

namespace eave {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double cpu_seconds_of_process() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Expects at least `expected` seconds, and less than `slack` more.
inline void expect_to_take(double seconds, double expected, double slack) {
  EXPECT_GE(seconds, expected);
  EXPECT_LT(seconds, expected + slack);
}

}  // namespace eave
