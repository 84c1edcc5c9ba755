#include "transport/core/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace eave {
namespace {

// Without FUTEX_PRIVATE_FLAG, because several processes use the word.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* at_most) noexcept {
  syscall(SYS_futex, &word, operation, value, at_most, nullptr, 0);
}

}  // namespace

void Bell::ring() noexcept {
  ++rings_;
  if (waiting_ > 0) futex(rings_, FUTEX_WAKE, INT_MAX, nullptr);
}

// A process that ends in here stays counted. Then ring() makes system calls without need.
void Bell::wait(std::uint32_t rings, std::chrono::nanoseconds at_most) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const timespec limit{static_cast<std::time_t>(seconds.count()), static_cast<long>((at_most - seconds).count())};
  ++waiting_;
  futex(rings_, FUTEX_WAIT, rings, &limit);
  --waiting_;
}

}  // namespace eave
