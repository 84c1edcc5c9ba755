// Memory that processes of one host share, and an event count in it, by which they wait for each other (a futex).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace eave {

// It has no name in any file system. It is freed when the last process that has it ends, in whatever way.
class SharedMemory {
 public:
  // Allocates `bytes` bytes of zeros. All of their pages exist from the start. nullptr: the system does not give them.
  static std::unique_ptr<SharedMemory> create(std::size_t bytes);
  // Opens memory that another process has created and still has. nullptr: not possible here, as in a container of
  // another user or with its own process numbers.
  static std::unique_ptr<SharedMemory> open(const std::string& address, std::size_t bytes);

  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  // For open() in another process, if this process created the memory. Less than 64 characters.
  const std::string& address() const { return address_; }
  std::span<std::byte> bytes() const;  // aligned to a page

 private:
  explicit SharedMemory(int file) : file_(file) {}
  bool map(std::size_t bytes);
  void ask_for_huge_pages() const noexcept;

  const int file_;  // owned; negative: none
  std::string address_;
  std::span<std::byte> reserved_, memory_;
};

// An event count: wakes processes of one host that wait for a change in memory that they share. It lies in that memory;
// zeroed memory is a new EventCount. To wait, call count(), then check the condition, and if it does not hold call
// wait(). Then no event between the two calls is missed.
class EventCount {
 public:
  std::uint32_t count() const { return count_.load(); }
  // Call it after writing what the waiting processes check. If none waits, it makes no system call.
  void notify_all() noexcept;
  // Returns when notify_all() has been called since count() returned `seen`, or after `at_most`. It may also return
  // without a reason.
  void wait(std::uint32_t seen, std::chrono::nanoseconds at_most) noexcept;

 private:
  std::atomic<std::uint32_t> count_, waiting_;
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "processes share no locks");
};

}  // namespace eave
