// What a thread has had of the processor.
#pragma once

namespace eave {

// Of the thread that makes it, which alone may ask.
class ThreadDelay {
 public:
  ThreadDelay() noexcept;
  ~ThreadDelay();
  ThreadDelay(const ThreadDelay&) = delete;
  ThreadDelay& operator=(const ThreadDelay&) = delete;
  // Seconds since it began in which it could have run and had no core. 0 where the system does not tell
  // (/proc/thread-self/schedstat).
  double seconds() const noexcept;

 private:
  int descriptor_;
};

}  // namespace eave
