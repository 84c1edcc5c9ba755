#include "base/memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/control_groups.h"

namespace eave {
namespace {

constexpr std::int64_t kNotKnown = -1;

// A fixed buffer: this file may be called when memory is short, and must not allocate.
using Text = std::array<char, 4096>;

bool read(const char* path, Text& text) noexcept {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  text[static_cast<std::size_t>(std::max<ssize_t>(size, 0))] = 0;
  return size > 0;
}

std::int64_t kibibytes_of(const Text& text, const char* name) noexcept {
  const char* const found = std::strstr(text.data(), name);
  return found == nullptr ? kNotKnown : std::strtoll(found + std::strlen(name), nullptr, 10) * 1024;
}

std::int64_t free_of_machine() noexcept {
  Text text;
  if (!read("/proc/meminfo", text)) return kNotKnown;
  const std::int64_t available = kibibytes_of(text, "MemAvailable:");
  return available < 0 ? kNotKnown : available + std::max<std::int64_t>(kibibytes_of(text, "SwapFree:"), 0);
}

std::int64_t left_of_limit() noexcept {
  rlimit limit{};
  Text text;
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || !read("/proc/self/statm", text)) {
    return kNotKnown;
  }
  const std::int64_t used = std::strtoll(text.data(), nullptr, 10) * ::sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(static_cast<std::int64_t>(limit.rlim_cur) - used, 0);
}

std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept {
  if (a < 0) return b;
  return b < 0 ? a : std::min(a, b);
}

}  // namespace

std::int64_t available_memory_bytes() noexcept {
  return smaller(free_of_machine(), smaller(left_of_limit(), control_group_limits().memory_left_bytes));
}

}  // namespace eave
