// A thread pool: its threads share the parts of one piece of work after another.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace eave {

class ThreadPool {
 public:
  // `threads` is at least 1. The thread that calls `parallel_for` is one of them. Throws Error(kResource) if the system
  // has fewer.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls work(part, thread) for each part in [0, count), with `thread` in [0, size()). Returns when no thread works
  // any longer. If parts fail, rethrows the exception of the lowest one, the same for any number of threads; later
  // parts may be left out. Allocates no memory. Only one thread at a time may call it.
  template <typename Work>
  void parallel_for(std::int64_t count, const Work& work) {
    run(count,
        {[](const void* what, std::int64_t part, int thread) { (*static_cast<const Work*>(what))(part, thread); },
         &work});
  }

 private:
  struct Task {
    void (*call)(const void*, std::int64_t, int) = nullptr;
    const void* work = nullptr;
  };
  void stop();
  void run(std::int64_t count, Task task);
  void run_helper(int thread);
  void work_on(int thread);

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  Task task_;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::uint64_t round_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
  std::int64_t failed_part_ = 0;
  std::vector<std::thread> helpers_;
};

}  // namespace eave
