// Memory that processes of one host share.
#pragma once

#include <cstddef>
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

}  // namespace eave
