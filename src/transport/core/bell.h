// Wakes processes of one host that wait for a change in memory that they share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace eave {

// Lies in the shared memory; zeroed memory is a new Bell. To wait, call rings(), then check the condition, and if it
// does not hold call wait(). Then no ring between the two calls is missed.
class Bell {
 public:
  std::uint32_t rings() const { return rings_.load(); }
  // Call it after writing what the waiting processes check. If none waits, it makes no system call.
  void ring() noexcept;
  // Returns when the Bell has rung since rings() returned `rings`, or after `at_most`. It may also return without a
  // reason.
  void wait(std::uint32_t rings, std::chrono::nanoseconds at_most) noexcept;

 private:
  std::atomic<std::uint32_t> rings_, waiting_;
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "processes share no locks");
};

}  // namespace eave
