#include "app/compare/compare_guard.h"

#include <unistd.h>

#include "app/main/launch.h"
#include "app/run/rank_guard.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "transport/core/failure.h"

namespace eave {
namespace {

// Other ranks would report rank 0 as lost, or go on, if it ended without telling them. Threads of this process end with
// it.
void leave_together(Transport& job, const std::string& output, bool is_of_threads) {
  constexpr ExitCode kCode = ExitCode::kLeftOnRequest;
  print_failure({kCode, "left on request; what is finished is kept in " + printable(output) +
                            ": the same command goes on with the rest"},
                0, 1);
  if (!is_of_threads) job.abort(kCode);
  _exit(static_cast<int>(kCode));
}

void lengthen(WatchdogLimit& limit, const WatchdogLimit& other) {
  if (limit.seconds != 0 && (other.seconds == 0 || other.seconds > limit.seconds)) limit = other;
}

}  // namespace

WatchdogSettings watchdog_settings_of_job(const std::vector<OptionValues>& runs, const std::vector<std::string>& hosts,
                                          ControlChannel& channel) {
  WatchdogSettings settings = watchdog_settings(runs.front(), hosts, channel);
  // A rank that waits for the others' run does not know in which section that is.
  WatchdogLimit longest = settings.limits.step;
  for (const OptionValues& values : runs) {
    const WatchdogLimits limits = watchdog_settings(values, hosts, channel).limits;
    lengthen(longest, limits.setup);
    lengthen(longest, limits.step);
  }
  settings.limits = {longest, longest, longest};
  settings.directory.clear();  // the directory of a comparison has no such files
  return settings;
}

CompareGuard::CompareGuard(Transport& job, const std::vector<OptionValues>& runs, const std::vector<std::string>& hosts,
                           const std::string& output, bool is_of_threads)
    : notice_(job.control(), job.rank(), ask_to_leave_by_signals(),
              [&job, output, is_of_threads] { leave_together(job, output, is_of_threads); }) {
  ControlChannel* const channel = job.control();
  const CallRecord* const calls = job.calls();
  std::vector<GuardTask*> tasks = {&notice_};
  if (channel && calls) {
    watchdog_.emplace(*channel, *calls, rank_progress_, job.rank(), watchdog_settings_of_job(runs, hosts, *channel));
    tasks.push_back(&*watchdog_);
  }
  agree(job, [&] { guard_.emplace(channel, tasks); });
}

}  // namespace eave
