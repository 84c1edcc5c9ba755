#include "guard/repeated_signal.h"

#include <signal.h>
#include <time.h>

#include <array>
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

}  // namespace

std::chrono::milliseconds same_signal_within(int signal) noexcept {
  return std::chrono::milliseconds(signal == SIGINT ? 300 : 2000);
}

void end_if_repeated(int signal) noexcept {
  const std::int64_t now = milliseconds_now();
  std::int64_t first = 0;
  if (first_times[static_cast<std::size_t>(signal)].compare_exchange_strong(first, now)) return;
  if (now - first <= same_signal_within(signal).count()) return;
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  raise(signal);  // takes effect when the handler returns
}

}  // namespace eave
