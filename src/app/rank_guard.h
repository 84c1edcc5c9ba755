// The guard of a rank while it trains.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/options.h"
#include "eave/transport.h"
#include "guard/guard.h"
#include "guard/leave_notice.h"
#include "guard/leave_task.h"
#include "guard/watchdog.h"
#include "guard/whereabouts.h"

namespace eave {

// --limit-setup, --limit-step, --limit-checkpoint.
std::vector<OptionSpec> guard_options();

class RankGuard {
 public:
  // Collective, with the bare transport, which outlives it. Without a control channel nobody is watched. A run that
  // keeps checkpoints may be asked to leave, by signals; one that does not says that it cannot,
  // unless it is a part of something else.
  RankGuard(Transport& transport, const OptionValues& values, bool is_part = false);
  const std::vector<std::string>& hosts() const { return hosts_; }  // of every rank
  Whereabouts& whereabouts() { return whereabouts_; }
  // nullptr: several ranks that cannot agree to leave.
  LeaveGate* leave() { return leave_.can_leave() ? &leave_.gate() : nullptr; }
  // Collective, when a run is through: a rank that still waits for another then is out of step.
  void finish();
  // After a failure of this rank: where ranks are out of step, it does not return, and a message names the calls.
  void explain(const Error& error);

 private:
  const std::vector<std::string> hosts_;
  Whereabouts whereabouts_;
  double limit_ = 0;  // seconds
  std::optional<Watchdog> watchdog_;
  LeaveTask leave_;
  std::optional<LeaveNotice> refusal_, interruption_;
  std::optional<Guard> guard_;
};

}  // namespace eave
