// Measures how long a thread waited for a core.
#pragma once

namespace eave {

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
