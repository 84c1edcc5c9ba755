// The guard of a rank whose training loop is not eave's. It does what `eave train` does for its ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "c/call_watch.h"
#include "c/run/failure_report.h"
#include "eave/transport.h"
#include "guard/guard.h"
#include "guard/leave.h"
#include "guard/rank_progress.h"
#include "guard/watchdog.h"

namespace eave {

class JobGuard {
 public:
  // Collective. `transport` is the bare transport. It, `leave` and `failures` outlive this. If the transport has no
  // control channel, nothing is watched. `generation`: how many guards this process had before. `failures`: nullptr
  // without a control channel.
  JobGuard(Transport& transport, LeaveTask& leave, FailureReport* failures, const WatchdogLimit& limit,
           std::int64_t generation);

  // The calls of the GPU of the averager that was opened last.
  DeviceCalls& device_calls() { return rank_progress_.device_calls(); }

  // The thread that calls the transport calls these three.
  void enter(const InterfaceCall& call);
  void leave(bool counts);
  // Call it after a call failed on this rank alone. If the reason is that ranks are out of step, it prints where they
  // are and does not return.
  void explain();

 private:
  RankProgress rank_progress_;
  std::optional<Watchdog> watchdog_;
  std::optional<CallWatch> calls_;
  bool is_counted_ = false;  // whether the call in progress is numbered
  std::optional<Guard> guard_;
};

// Throws Error(kUsage) unless the time is 0 or at least 1 s. `source`: where the text comes from, for the message.
WatchdogLimit limit_from(const std::string& text, const std::string& source);

}  // namespace eave
