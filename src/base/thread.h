// Starts threads, ends them, and measures how long one waited for a core. If the system has no thread left, the message
// says what to do.
#pragma once

#include <chrono>
#include <csignal>
#include <future>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace eave {

// Throws Error(kResource): which thread, why it could not be started, which limits to raise, and their present values.
// `remedy` says what else to do.
[[noreturn]] void refuse_thread(const std::string& thread, const std::system_error& error,
                                const std::string& remedy = "start fewer ranks on this machine");

// Runs `body` in a new thread. `purpose` completes the sentence "cannot start a thread …", such as "for rank 1".
template <class Thread = std::thread, class Body>
Thread start_thread(const std::string& purpose, Body&& body) {
  try {
    return Thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    refuse_thread("a thread " + purpose, error);
  }
}

// The same, as a future of what `body` returns.
template <class Body>
auto start_task(const std::string& purpose, Body&& body) {
  try {
    return std::async(std::launch::async, std::forward<Body>(body));
  } catch (const std::system_error& error) {
    refuse_thread("a thread " + purpose, error);
  }
}

// Starts a thread by `start`, so that the new thread takes no signals: they reach the threads that expect them.
template <class Start>
void start_without_signals(Start&& start) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    start();
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Whether a std::jthread is asked to stop within this time. Sleeps until then.
bool stops_within(const std::stop_token& stop, std::chrono::nanoseconds time);

// How long a thread waited for a core.
//
// Measures the thread that constructs it. Only that thread may call it.
class ThreadDelay {
 public:
  ThreadDelay() noexcept;
  ~ThreadDelay();
  ThreadDelay(const ThreadDelay&) = delete;
  ThreadDelay& operator=(const ThreadDelay&) = delete;
  // Seconds, since the thread began, in which it was ready to run and had no core. 0 if the system does not tell
  // (/proc/thread-self/schedstat).
  double seconds() const noexcept;

 private:
  int descriptor_;
};

}  // namespace eave
