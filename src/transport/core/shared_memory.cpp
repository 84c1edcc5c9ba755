#include "transport/core/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstring>
#include <ctime>
#include <random>

namespace eave {
namespace {

// The first page holds a random token. By it, a process knows that it has opened the memory that it was told of.
constexpr std::size_t kTokenRoom = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25;  // Linux 6.1 on; older kernels refuse it
#endif

off_t length_for(std::size_t bytes) { return static_cast<off_t>(kTokenRoom + bytes); }

std::uint64_t make_token() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

// Without FUTEX_PRIVATE_FLAG, because several processes use the word.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* at_most) noexcept {
  syscall(SYS_futex, &word, operation, value, at_most, nullptr, 0);
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::create(std::size_t bytes) {
  std::unique_ptr<SharedMemory> made(new SharedMemory(memfd_create("eave", MFD_CLOEXEC)));
  // posix_fallocate takes all pages now. Otherwise, if memory ran out at the first write to a page, the process would
  // end.
  if (made->file_ < 0 || posix_fallocate(made->file_, 0, length_for(bytes)) != 0 || !made->map(bytes)) return nullptr;
  made->ask_for_huge_pages();
  const std::uint64_t token = make_token();
  std::memcpy(made->memory_.data(), &token, sizeof(token));
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
  std::memcpy(&found, opened->memory_.data(), sizeof(found));
  return found == token ? std::move(opened) : nullptr;
}

// Maps at a multiple of a huge page, so that a huge page of the file can be a huge page of this process.
bool SharedMemory::map(std::size_t bytes) {
  const std::size_t length = kTokenRoom + bytes, room = length + kHugePage;
  void* const reserved = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return false;
  reserved_ = {static_cast<std::byte*>(reserved), room};
  void* place = reserved;
  std::size_t left = room;
  std::align(kHugePage, length, place, left);
  if (mmap(place, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0) == MAP_FAILED) return false;
  memory_ = {static_cast<std::byte*>(place), length};
  return true;
}

// create() took small pages, which exist for certain. MADV_COLLAPSE makes huge pages of them, whatever the system's
// rule for new huge pages is. A pass over a center and a sum of 13 MB that lie cold in memory is a tenth faster. Each
// page is unmapped from this process again, so that only the pages that it uses count as its own memory. Failing is
// harmless.
void SharedMemory::ask_for_huge_pages() const noexcept {
  for (std::size_t begin = 0; begin + kHugePage <= memory_.size(); begin += kHugePage) {
    std::byte* const page = memory_.data() + begin;
    if (madvise(page, kHugePage, MADV_COLLAPSE) != 0) return;
    madvise(page, kHugePage, MADV_DONTNEED);
  }
}

SharedMemory::~SharedMemory() {
  if (!reserved_.empty()) munmap(reserved_.data(), reserved_.size());
  if (file_ >= 0) close(file_);
}

std::span<std::byte> SharedMemory::bytes() const { return memory_.subspan(kTokenRoom); }

void EventCount::notify_all() noexcept {
  ++count_;
  if (waiting_ > 0) futex(count_, FUTEX_WAKE, INT_MAX, nullptr);
}

// A process that ends in here stays counted. Then notify_all() makes system calls without need.
void EventCount::wait(std::uint32_t seen, std::chrono::nanoseconds at_most) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const timespec limit{static_cast<std::time_t>(seconds.count()), static_cast<long>((at_most - seconds).count())};
  ++waiting_;
  futex(count_, FUTEX_WAIT, seen, &limit);
  --waiting_;
}

}  // namespace eave
