#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>

#include "app/main/launch.h"

namespace eave {
namespace {

std::atomic<bool> is_asked{false}, is_interrupted{false};
std::atomic<std::int64_t> first_sigterm{0};  // in milliseconds; 0: none has come
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

void ask(int signal) {
  if (signal == SIGINT) is_interrupted = true;
  is_asked = true;
}

void handle(int signal, int flags, void (*handler)(int) = ask) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

std::int64_t milliseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1000} * now.tv_sec + now.tv_nsec / 1'000'000;
}

// Launchers pass SIGTERM on to ranks that have heard it already. Only one that comes later ends the process at once.
void ask_by_sigterm(int signal) {
  constexpr std::int64_t kOfLaunchers = 2000;  // ms
  const std::int64_t now = milliseconds_now();
  std::int64_t first = 0;
  if (first_sigterm.compare_exchange_strong(first, now)) return ask(signal);
  if (now - first > kOfLaunchers) {
    handle(signal, 0, SIG_DFL);
    raise(signal);  // takes effect when this handler returns
  }
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Calls the kernel directly: before constructors, a sanitizer's version of the library call is not ready. The kernel's
// mask has one bit per signal.
void change_mask(int how) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << (SIGUSR1 - 1);
  syscall(SYS_rt_sigprocmask, how, &bit, nullptr, sizeof(bit));
}

}  // namespace

void hold_sigusr1() noexcept { change_mask(SIG_BLOCK); }
void release_sigusr1() noexcept { change_mask(SIG_UNBLOCK); }

const std::atomic<bool>& hear_sigusr1() {
  static std::once_flag once;
  std::call_once(once, [] { handle(SIGUSR1, 0); });
  release_sigusr1();
  return is_asked;
}

const std::atomic<bool>& ask_to_leave_by_signals() {
  static std::once_flag once;
  std::call_once(once, [] {
    handle(SIGTERM, 0, ask_by_sigterm);
    for (const int signal : {SIGINT, SIGHUP})
      if (!is_ignored(signal)) handle(signal, static_cast<int>(SA_RESETHAND));
  });
  return hear_sigusr1();
}

const std::atomic<bool>& was_interrupted() { return is_interrupted; }

}  // namespace eave
