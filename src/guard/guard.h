// A thread beside training that looks after a rank and talks to the guards of other ranks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "eave/transport.h"

namespace eave {

// The first kind of control message of each task, so that tasks do not take each other's messages.
enum GuardMessage : std::int64_t { kWatchdogMessages = 0, kLeaveMessages = 16, kLeaveNotices };

// One duty of a guard. Only the guard's thread calls it. It must not wait for anything that another thread may hold
// forever. handle() may throw the channel's errors and nothing else; tick() throws nothing.
class GuardTask {
 public:
  virtual ~GuardTask() = default;
  // Called once per period, after messages were handled. `seconds`: since the last call. If the process or its machine
  // stood still meanwhile, it is at most four periods.
  virtual void tick(double seconds) = 0;
  // Returns whether the message is of one of its kinds.
  virtual bool handle(int from, const ControlMessage& message) = 0;
};

class Guard {
 public:
  // Only this thread uses the channel until the guard ends; nullptr: no messages come. Channel and tasks are not owned.
  // Throws Error(kResource) if no thread can be started.
  Guard(ControlChannel* channel, std::vector<GuardTask*> tasks,
        std::chrono::nanoseconds period = std::chrono::milliseconds(50));
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  // From now on the period is 1 ms, because another rank waits for what the guard does.
  void shorten_period() noexcept;

 private:
  void run() noexcept;
  void handle_messages() noexcept;
  bool is_ended();  // waits up to one period for the end

  ControlChannel* const channel_;
  const std::vector<GuardTask*> tasks_;
  std::chrono::nanoseconds period_;  // guarded by mutex_
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace eave
