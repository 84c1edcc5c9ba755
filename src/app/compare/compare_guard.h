// Watches over the ranks of a comparison: finds those that hang, and handles requests to leave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eave/options.h"
#include "eave/transport.h"
#include "guard/guard.h"
#include "guard/leave.h"
#include "guard/rank_progress.h"
#include "guard/watchdog.h"

namespace eave {

// The longest of all limits of the runs, for set-up and steps alike. `channel` outlives what uses the settings.
WatchdogSettings watchdog_settings_of_job(const std::vector<OptionValues>& runs, const std::vector<std::string>& hosts,
                                          ControlChannel& channel);

// One guard watches the whole job, also while its parts train: the runs report their progress to rank_progress(). A
// rank that hangs ends the job as it ends `eave train`. If SIGUSR1 or SIGTERM reaches any rank, the whole job ends at
// once with 75. Finished runs are kept.
class CompareGuard {
 public:
  // Collective. `job` outlives this. `runs`: the options of the runs; their longest limit holds. `output`: the
  // directory of the comparison. `is_of_threads`: the ranks are threads of this process.
  CompareGuard(Transport& job, const std::vector<OptionValues>& runs, const std::vector<std::string>& hosts,
               const std::string& output, bool is_of_threads);
  RankProgress& rank_progress() { return rank_progress_; }

 private:
  RankProgress rank_progress_;
  LeaveNotice notice_;
  std::optional<Watchdog> watchdog_;
  std::optional<Guard> guard_;
};

}  // namespace eave
