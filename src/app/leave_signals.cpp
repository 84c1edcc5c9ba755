#include "app/leave_signals.h"

#include <signal.h>

#include <mutex>

namespace eave {
namespace {

std::atomic<bool> is_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void handle(int signal, int flags) {
  struct sigaction action {};
  action.sa_handler = [](int) { is_asked = true; };
  action.sa_flags = SA_RESTART | flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

const std::atomic<bool>& hear_sigusr1() {
  static std::once_flag once;
  std::call_once(once, [] { handle(SIGUSR1, 0); });
  return is_asked;
}

const std::atomic<bool>& ask_to_leave_by_signals() {
  static std::once_flag once;
  std::call_once(once, [] { handle(SIGTERM, static_cast<int>(SA_RESETHAND)); });
  return hear_sigusr1();
}

}  // namespace eave
