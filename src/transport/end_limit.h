// A limit for the end of a job.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace eave {

// Over the last calls of a rank, which wait for the others and for the launcher, and over which no watchdog watches any
// more. What the job was to do is done by then. Where they do not come back within `limit`, says which, and ends the
// process with the job's code, or with kPeerLost where that is 0: the launcher then ends the others.
class EndLimit {
 public:
  // `rank`: ranks that stand still together speak in their order. `code`: the job's.
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
