#include "test/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace eave {

void take_or_refuse(std::initializer_list<ExitCode> codes, const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& error) {
    const std::string what = error.what();
    if (std::ranges::count(codes, error.code()) != 0 && !what.empty()) return;
    std::fprintf(stderr, "refused with %d: %s\n", static_cast<int>(error.code()), what.c_str());
    std::abort();
  }
}

std::string file_of(std::span<const std::uint8_t> bytes) {
  static const int file = ::memfd_create("fuzzed", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, 0) != 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::perror("a file in memory");
    std::abort();
  }
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace eave
