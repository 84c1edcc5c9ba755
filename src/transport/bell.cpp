#include "transport/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace eave {
namespace {

// Not FUTEX_PRIVATE_FLAG: the processes are several.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* at_most) noexcept {
  syscall(SYS_futex, &word, operation, value, at_most, nullptr, 0);
}

}  // namespace

void Bell::ring() noexcept {
  ++rings_;
  if (waiting_ > 0) futex(rings_, FUTEX_WAKE, INT_MAX, nullptr);
}

// A process that ends here stays counted: then ring() calls the kernel for nothing.
void Bell::wait(std::uint32_t rings, std::chrono::nanoseconds at_most) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const timespec limit{static_cast<std::time_t>(seconds.count()), static_cast<long>((at_most - seconds).count())};
  ++waiting_;
  futex(rings_, FUTEX_WAIT, rings, &limit);
  --waiting_;
}

}  // namespace eave
