// A thread beside training that looks after a rank, and speaks with those of the other ranks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "eave/transport.h"

namespace eave {

// Kinds of control messages, so that tasks do not take each other's.
enum GuardMessage : std::int64_t { kWatchdogMessages = 0, kLeaveMessages = 16, kLeaveNotices };

// What a guard does. Called by its thread alone; must not wait for what another thread may keep for good. Errors of the
// channel may escape take(), nothing else, and nothing escapes look().
class GuardTask {
 public:
  virtual ~GuardTask() = default;
  // Once a period, after messages were taken. `seconds` since the last time, but little more than a period where this
  // process stood still meanwhile (stopped, or its machine).
  virtual void look(double seconds) = 0;
  // Returns whether the message was one of its kinds.
  virtual bool take(int from, const ControlMessage& message) = 0;
};

class Guard {
 public:
  // The channel is this thread's until the guard's end; nullptr: no messages come. Tasks are lent.
  // Throws Error(kResource) when no thread can be had.
  Guard(ControlChannel* channel, std::vector<GuardTask*> tasks,
        std::chrono::nanoseconds period = std::chrono::milliseconds(50));
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  // From now on it looks every millisecond: somebody waits for what it does.
  void hurry() noexcept;

 private:
  void run() noexcept;
  void take_messages() noexcept;
  bool is_ended();  // waits a period for it

  ControlChannel* const channel_;
  const std::vector<GuardTask*> tasks_;
  std::chrono::nanoseconds period_;  // as mutex_ allows
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace eave
