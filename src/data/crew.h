// Threads that share the parts of a piece of work, again and again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace eave {

class Crew {
 public:
  // `threads`, at least 1, of which one is whoever calls `share`. Throws Error(kResource) where the system gives fewer.
  explicit Crew(int threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls work(part, thread) for the parts [0, count), `thread` in [0, size()), and returns when no thread works any
  // longer. What the first of the parts to fail has thrown comes out, the same for every number of threads; parts
  // behind it may be left out then. Asks for no memory. One thread at a time may call it.
  template <typename Work>
  void share(std::int64_t count, const Work& work) {
    run(count,
        {[](const void* what, std::int64_t part, int thread) { (*static_cast<const Work*>(what))(part, thread); },
         &work});
  }

 private:
  struct Task {
    void (*call)(const void*, std::int64_t, int) = nullptr;
    const void* work = nullptr;
  };
  void dismiss();
  void run(std::int64_t count, Task task);
  void help(int thread);
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
