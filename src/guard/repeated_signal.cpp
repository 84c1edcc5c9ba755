#include "guard/repeated_signal.h"

#include <signal.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace eave {
namespace {

std::array<std::atomic<std::int64_t>, NSIG> first_times{};  // by signal, in milliseconds; 0: none has come
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t milliseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1000} * now.tv_sec + now.tv_nsec / 1'000'000;
}

// How many milliseconds after the first signal of its kind a further one counts as the same. Launchers pass SIGTERM on
// to ranks that have heard it already. When a terminal is closed, first its shell and then the kernel send SIGHUP.
// Wrappers pass on a Ctrl-C that their program has heard from the terminal; a person takes longer to press it again.
std::int64_t same_signal_within(int signal) { return signal == SIGINT ? 300 : 2000; }

}  // namespace

void end_if_repeated(int signal) noexcept {
  const std::int64_t now = milliseconds_now();
  std::int64_t first = 0;
  if (first_times[static_cast<std::size_t>(signal)].compare_exchange_strong(first, now)) return;
  if (now - first <= same_signal_within(signal)) return;
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  raise(signal);  // takes effect when the handler returns
}

}  // namespace eave
