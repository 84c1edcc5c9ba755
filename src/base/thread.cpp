#include "base/thread.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "eave/check.h"

namespace eave {
namespace {

// The command that shows a limit, with its value if one is set: "ulimit -v, now 100000".
std::string limit_text(const char* command, __rlimit_resource limit, rlim_t unit) {
  rlimit value{};
  if (getrlimit(limit, &value) != 0 || value.rlim_cur == RLIM_INFINITY) return command;
  return std::string(command) + ", now " + std::to_string(value.rlim_cur / unit);
}

}  // namespace

void refuse_thread(const std::string& thread, const std::system_error& error, const std::string& remedy) {
  throw Error(ExitCode::kResource, "cannot start " + thread + ": " + error.code().message() +
                                       "; out of memory, or of processes: raise the limit (" +
                                       limit_text("ulimit -v", RLIMIT_AS, 1024) + "; " +
                                       limit_text("ulimit -u", RLIMIT_NPROC, 1) +
                                       "; or pids.max of the control group), or " + remedy);
}

bool stops_within(const std::stop_token& stop, std::chrono::nanoseconds time) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, time, [] { return false; });
  return stop.stop_requested();
}

ThreadDelay::ThreadDelay() noexcept : descriptor_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

ThreadDelay::~ThreadDelay() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

double ThreadDelay::seconds() const noexcept {
  std::array<char, 128> text{};
  if (descriptor_ < 0 || ::pread(descriptor_, text.data(), text.size() - 1, 0) <= 0) return 0;
  unsigned long long nanoseconds = 0;  // the second of three numbers: running, ready to run, time slices
  return std::sscanf(text.data(), "%*u %llu", &nanoseconds) == 1 ? 1e-9 * static_cast<double>(nanoseconds) : 0;
}

}  // namespace eave
