// A time limit for the end of a job.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace eave {

// Watches the last calls of a rank, which wait for other ranks and for the launcher, when no watchdog runs any more.
// The job's work is done by then. If such a call does not return within `limit`, a thread prints which one and ends the
// process. It exits with the job's code, or with kPeerLost if that code is 0. Then the launcher ends the other ranks.
class EndLimit {
 public:
  // `rank`: if several ranks hang, they print one after another in rank order. `code`: the job's exit code.
  EndLimit(int rank, int code, std::chrono::milliseconds limit = std::chrono::minutes(1));
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;
  ~EndLimit();

  void enter(const char* call) { call_ = call; }

 private:
  void watch();
  bool ends_within(std::chrono::nanoseconds time);

  const int rank_, code_;
  const std::chrono::milliseconds limit_;
  std::atomic<const char*> call_ = "";
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace eave
