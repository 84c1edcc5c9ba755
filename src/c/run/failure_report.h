// Tells rank 0, which records a run, why another rank is about to end the job.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "eave/check.h"
#include "guard/guard.h"

namespace eave {

class FailureReport final : public GuardTask {
 public:
  // `channel` is not owned and outlives this. `record` is called on rank 0, in a thread of its own, because a file
  // server may hang.
  FailureReport(ControlChannel& channel, int rank, std::function<void(const Error&)> record);

  // Any thread calls it. On rank 0 it does nothing. On another rank it returns when rank 0 has recorded the failure, or
  // after half a second.
  void tell(const Error& error) noexcept;

  void tick(double seconds) override;
  bool handle(int from, const ControlMessage& message) override;

 private:
  void send(const Error& error);
  void record(int from, const Error& error);

  ControlChannel& channel_;
  const int rank_;
  const std::function<void(const Error&)> record_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> untold_;
  bool is_recorded_ = false;
  // On rank 0, by rank: the beginning of its text, and whether its failure has been recorded.
  std::map<int, std::string> coming_;
  std::map<int, std::shared_ptr<const std::atomic<bool>>> is_recording_done_;
};

}  // namespace eave
