#include "transport/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <random>

namespace eave {
namespace {

// The first page belongs to the token, by which a process knows that it has found what it was told of.
constexpr std::size_t kTokenRoom = 4096;

off_t length_for(std::size_t bytes) { return static_cast<off_t>(kTokenRoom + bytes); }

std::uint64_t make_token() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::create(std::size_t bytes) {
  std::unique_ptr<SharedMemory> made(new SharedMemory(memfd_create("eave", MFD_CLOEXEC)));
  // Without pages of its own the first write to one that is not to be had would end the process.
  if (made->file_ < 0 || posix_fallocate(made->file_, 0, length_for(bytes)) != 0 || !made->map(bytes)) return nullptr;
  const std::uint64_t token = make_token();
  std::memcpy(made->memory_, &token, sizeof(token));
  made->address_ = std::to_string(token) + " /proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(made->file_);
  return made;
}

std::unique_ptr<SharedMemory> SharedMemory::open(const std::string& address, std::size_t bytes) {
  std::uint64_t token = 0, found = 0;
  const char* const end = address.data() + address.size();
  const auto number = std::from_chars(address.data(), end, token);
  if (number.ec != std::errc{} || number.ptr == end) return nullptr;
  std::unique_ptr<SharedMemory> opened(
      new SharedMemory(::open(number.ptr + 1, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)));
  if (opened->file_ < 0 || lseek(opened->file_, 0, SEEK_END) != length_for(bytes) || !opened->map(bytes))
    return nullptr;
  std::memcpy(&found, opened->memory_, sizeof(found));
  return found == token ? std::move(opened) : nullptr;
}

bool SharedMemory::map(std::size_t bytes) {
  void* const memory = mmap(nullptr, kTokenRoom + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  mapped_ = kTokenRoom + bytes;
  return true;
}

SharedMemory::~SharedMemory() {
  if (memory_) munmap(memory_, mapped_);
  if (file_ >= 0) close(file_);
}

std::span<std::byte> SharedMemory::bytes() const {
  return {static_cast<std::byte*>(memory_) + kTokenRoom, mapped_ - kTokenRoom};
}

}  // namespace eave
