#include "data/loading/thread_pool.h"

#include <string>
#include <system_error>
#include <utility>

#include "base/thread.h"
#include "eave/check.h"

namespace eave {

ThreadPool::ThreadPool(int threads) {
  EAVE_CHECK(threads >= 1, "a crew has a thread");
  helpers_.reserve(static_cast<std::size_t>(threads));
  try {
    for (int thread = 1; thread < threads; ++thread) helpers_.emplace_back([this, thread] { run_helper(thread); });
  } catch (const std::system_error& error) {
    const std::size_t started = helpers_.size();
    stop();  // the destructor will not run
    refuse_thread(
        "thread " + std::to_string(started + 2) + " of --decode-threads " + std::to_string(threads) + " to read images",
        error, "give fewer --decode-threads");
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begun_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::run(std::int64_t count, Task task) {
  {
    const std::lock_guard lock(mutex_);
    task_ = task;
    count_ = count;
    next_ = 0;
    busy_ = static_cast<int>(helpers_.size());
    ++round_;
  }
  begun_.notify_all();
  work_on(0);
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::run_helper(int thread) {
  std::uint64_t done = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      begun_.wait(lock, [&] { return stop_ || round_ != done; });
      if (stop_) return;
      done = round_;
    }
    work_on(thread);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) ended_.notify_one();
  }
}

void ThreadPool::work_on(int thread) {
  for (std::int64_t part = next_++; part < count_; part = next_++) {
    try {
      task_.call(task_.work, part, thread);
    } catch (...) {
      // Threads take parts in order, so other threads have taken all parts before this one and will try them.
      next_ = count_;
      const std::lock_guard lock(mutex_);
      if (!error_ || part < failed_part_) {
        error_ = std::current_exception();
        failed_part_ = part;
      }
    }
  }
}

}  // namespace eave
