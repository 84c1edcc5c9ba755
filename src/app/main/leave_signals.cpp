#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>

#include "app/main/launch.h"
#include "guard/repeated_signal.h"

namespace eave {
namespace {

std::atomic<bool> is_asked{false}, is_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void ask(int signal) {
  if (signal != SIGUSR1) end_if_repeated(signal);
  if (signal == SIGINT) is_interrupted = true;
  is_asked = true;
}

void handle(int signal) {
  struct sigaction action {};
  action.sa_handler = ask;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
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
  std::call_once(once, [] { handle(SIGUSR1); });
  release_sigusr1();
  return is_asked;
}

const std::atomic<bool>& ask_to_leave_by_signals() {
  static std::once_flag once;
  std::call_once(once, [] {
    handle(SIGTERM);
    for (const int signal : {SIGINT, SIGHUP})
      if (!is_ignored(signal)) handle(signal);
  });
  return hear_sigusr1();
}

const std::atomic<bool>& was_interrupted() { return is_interrupted; }

}  // namespace eave
