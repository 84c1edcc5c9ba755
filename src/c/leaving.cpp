#include "c/leaving.h"

#include <signal.h>

#include <string>

#include "eave/check.h"
#include "guard/repeated_signal.h"

namespace eave {
namespace {

std::atomic<bool> is_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void ask_by_signal(int signal) {
  if (signal != SIGUSR1) end_if_repeated(signal);
  is_asked = true;
}

}  // namespace

const std::atomic<bool>& asked_to_leave() { return is_asked; }
void ask_to_leave() noexcept { is_asked = true; }

void leave_on(int signal) {
  struct sigaction present {
  }, action{};
  action.sa_handler = ask_by_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(signal, nullptr, &present) != 0 || signal == SIGKILL || signal == SIGSTOP)
    throw Error(ExitCode::kUsage, "leave_on: a program cannot handle signal " + std::to_string(signal) +
                                      "; expected one such as SIGUSR1 (" + std::to_string(SIGUSR1) + ")");
  const bool is_free = (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_DFL;
  if (is_free) sigaction(signal, &action, nullptr);
}

void StepsUntilLeaving::after_step(bool together) {
  if (together) ++together_;
  const bool goes_on = together ? gate_.may_begin(together_) : !gate_.is_closed();
  if (!goes_on) is_leaving_ = true;
}

}  // namespace eave
