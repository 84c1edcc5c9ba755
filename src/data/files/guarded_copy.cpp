#include "data/files/guarded_copy.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

namespace eave {
namespace {

struct Guard {
  sigjmp_buf leave;
  const std::uint8_t *begin, *end;  // the guarded mapping
};

// The guard of the copy that this thread is making, or nullptr. The handler must not be the first to touch thread-local
// memory. The initial-exec model allocates it when the thread starts, also in a library opened at run time.
[[gnu::tls_model("initial-exec")]] constinit thread_local Guard* thread_guard = nullptr;

struct sigaction former_bus_action {};

// Handles the signal as if this handler did not exist.
void pass_on(int signal, siginfo_t* info, void* context) {
  // A process has sent the signal. A signal raised by a fault cannot be ignored.
  const bool is_sent = info->si_code <= 0;
  if (former_bus_action.sa_handler == SIG_IGN && is_sent) return;
  if (former_bus_action.sa_handler == SIG_IGN || former_bus_action.sa_handler == SIG_DFL) {
    ::signal(signal, SIG_DFL);  // a fault is raised again on return
    if (is_sent) ::raise(signal);
  } else if ((former_bus_action.sa_flags & SA_SIGINFO) != 0) {
    former_bus_action.sa_sigaction(signal, info, context);
  } else {
    former_bus_action.sa_handler(signal);
  }
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  Guard* const guard = thread_guard;
  const auto* const address = static_cast<const std::uint8_t*>(info->si_addr);
  if (guard == nullptr || info->si_code <= 0 || address < guard->begin || address >= guard->end)
    return pass_on(signal, info, context);
  thread_guard = nullptr;
  // The signal is blocked in this handler, and perhaps by the caller. siglongjmp would leave it blocked, and the next
  // SIGBUS would end the process.
  sigset_t bus;
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  ::pthread_sigmask(SIG_UNBLOCK, &bus, nullptr);
  siglongjmp(guard->leave, 1);
}

void take_bus_errors() {
  if (::sigaction(SIGBUS, nullptr, &former_bus_action) != 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | (former_bus_action.sa_flags & SA_ONSTACK);
  action.sa_mask = former_bus_action.sa_mask;
  ::sigaction(SIGBUS, &action, nullptr);
}

bool is_zero(const std::uint8_t* begin, const std::uint8_t* end) {
  while (end != begin && end[-1] == 0) --end;
  return end == begin;
}

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

}  // namespace

bool guards_copies() {
  static std::once_flag once;
  std::call_once(once, take_bus_errors);
  struct sigaction action {};
  return ::sigaction(SIGBUS, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) != 0 &&
         action.sa_sigaction == on_bus_error;
}

bool copy_guarded(std::span<const std::uint8_t> mapping, std::size_t first, std::span<std::uint8_t> to) {
  const std::size_t last = first + to.size() - 1, page_end = std::min((last / kPage + 1) * kPage, mapping.size());
  Guard guard;
  guard.begin = mapping.data();
  guard.end = mapping.data() + mapping.size();
  if (sigsetjmp(guard.leave, 0) != 0) return false;
  thread_guard = &guard;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps the compiler from moving the copy past it
  std::memcpy(to.data(), mapping.data() + first, to.size());
  const bool may_be_cut = is_zero(mapping.data() + last, mapping.data() + page_end);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread_guard = nullptr;
  return !may_be_cut;
}

}  // namespace eave
