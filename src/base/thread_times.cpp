#include "base/thread_times.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace eave {

ThreadDelay::ThreadDelay() noexcept : descriptor_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

ThreadDelay::~ThreadDelay() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

double ThreadDelay::seconds() const noexcept {
  std::array<char, 128> text{};
  if (descriptor_ < 0 || ::pread(descriptor_, text.data(), text.size() - 1, 0) <= 0) return 0;
  unsigned long long nanoseconds = 0;  // the second of three numbers: running, ready to run, time slices
  return std::sscanf(text.data(), "%*u %llu", &nanoseconds) == 1 ? 1e-9 * static_cast<double>(nanoseconds) : 0;
}

}  // namespace eave
