// Wakes whoever waits for something in memory that processes of one host share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace eave {

// Lies in that memory; zeros are a new one. Who waits takes rings(), looks whether what it waits for is there, and
// calls wait() if not: nothing that was rung for in between is missed.
class Bell {
 public:
  std::uint32_t rings() const { return rings_.load(); }
  // What is rung for was written before. Where nobody waits it calls no kernel.
  void ring() noexcept;
  // Until it was rung since `rings`, at most so long; it may also return for nothing.
  void wait(std::uint32_t rings, std::chrono::nanoseconds at_most) noexcept;

 private:
  std::atomic<std::uint32_t> rings_, waiting_;
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "processes share no locks");
};

}  // namespace eave
