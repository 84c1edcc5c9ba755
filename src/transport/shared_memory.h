// Memory that processes of one host share.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace eave {

// It has no name in any file system and goes with the last process that has it, however that ends.
class SharedMemory {
 public:
  // So many bytes of zeros, there in full. nullptr: not to be had.
  static std::unique_ptr<SharedMemory> create(std::size_t bytes);
  // What create() of another process has made, which still has it. nullptr: not to be had here, as in a container of
  // another user or with process numbers of its own.
  static std::unique_ptr<SharedMemory> open(const std::string& address, std::size_t bytes);

  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  const std::string& address() const { return address_; }  // for open(), of whom made it; less than 64 characters
  std::span<std::byte> bytes() const;                      // aligned to a page

 private:
  explicit SharedMemory(int file) : file_(file) {}
  bool map(std::size_t bytes);
  void ask_for_huge_pages() const noexcept;

  const int file_;  // its own; negative: there is none
  std::string address_;
  std::span<std::byte> reserved_, memory_;
};

}  // namespace eave
