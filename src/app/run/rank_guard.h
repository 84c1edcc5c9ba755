// Watches a rank while it trains: detects ranks that hang, and handles requests to leave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/options.h"
#include "eave/transport.h"
#include "guard/guard.h"
#include "guard/leave.h"
#include "guard/rank_progress.h"
#include "guard/watchdog.h"

namespace eave {

// --limit-setup, --limit-step, --limit-checkpoint.
std::vector<OptionSpec> guard_options();

// Throws Error(kUsage) if a limit is too short, or is given though nothing is watched.
void check_limits(const OptionValues& values, bool is_watched);
// With the limits of these options. `channel` outlives what uses the settings.
WatchdogSettings watchdog_settings(const OptionValues& values, std::vector<std::string> hosts, ControlChannel& channel);

class RankGuard {
 public:
  // Collective. `transport` is the bare transport and must outlive this object. Calls of a GPU are watched once
  // somebody shows them in rank_progress(). Without a control channel, ranks are not watched. A run that keeps
  // checkpoints can be asked by signals to leave. Any other run prints that it cannot leave, unless it is a part of
  // another job (`is_part`), whose guard watches it: `of_job` is this rank's progress there, or nullptr.
  RankGuard(Transport& transport, const OptionValues& values, bool is_part = false, RankProgress* of_job = nullptr);
  const std::vector<std::string>& hosts() const { return hosts_; }  // of every rank
  RankProgress& rank_progress() { return of_job_ ? *of_job_ : rank_progress_; }
  // nullptr if the job has several ranks and no way for them to agree to leave.
  LeaveGate* leave() { return leave_.can_leave() ? &leave_.gate() : nullptr; }
  // Collective, at the end of a run. Waits until all ranks have finished. Throws Error(kPeerLost) if that takes longer
  // than --limit-step: a rank that still waits for another one is out of step.
  void finish();
  // Call this after a failure of this rank. If ranks are out of step, it does not return: a message names their calls,
  // and the job ends.
  void explain(const Error& error);

 private:
  RankProgress* const of_job_;
  const std::vector<std::string> hosts_;
  RankProgress rank_progress_;
  double limit_ = 0;  // in seconds
  std::optional<Watchdog> watchdog_;
  LeaveTask leave_;
  std::optional<LeaveNotice> refusal_, interruption_;
  std::optional<Guard> guard_;
};

}  // namespace eave
