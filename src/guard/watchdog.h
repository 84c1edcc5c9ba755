// Finds out why a communication takes so long, and ends a job that cannot go on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files/output_file.h"
#include "eave/check.h"
#include "guard/guard.h"
#include "guard/rank_calls.h"
#include "guard/rank_progress.h"

namespace eave {

// How long a rank may be in one communication; 0: no limit.
struct WatchdogLimit {
  double seconds = 0;
  std::string name = {};  // the option that a message names, to change the limit
};

struct WatchdogLimits {
  WatchdogLimit setup;
  WatchdogLimit step;  // also for evaluations
  WatchdogLimit checkpoint;
};

struct WatchdogSettings {
  WatchdogLimits limits;
  std::vector<std::string> hosts;  // by rank
  // The job's directory, for the files of calls; "": they are not written.
  std::string directory = {};
  FileCalls* files = &system_file_calls();  // not owned
  // `say` prints a line for the whole job. It may hang, as where standard error is a file on a server that hangs, so it
  // runs in a thread of its own and may return after the watchdog has ended. `leave` ends this process at once.
  std::function<void(const std::string&)> say;
  std::function<void(ExitCode)> leave;
};

// While a call lasts, or a wait for rank 0 before a step, this rank asks the others over the control channel:
//     after 2 s, or 1/8 of the limit if that is less: it asks whether the others are in the same call;
//     once a rank was silent, or no rank made progress, for 1/4 of the limit: one warning for the whole job names the
//     ranks that do not answer, or are elsewhere;
//     once that was so for the whole limit: the job ends with 69;
//     at any time: if two ranks are in different calls where all must meet, the job ends with 70.
// If several ranks have something to print, the lowest prints: each waits for its turn, and stays silent if a lower
// rank has printed. Before the end, each rank writes its last calls to a file, and gives a slow file server 5 s for
// that, and for the message.
class Watchdog final : public GuardTask {
 public:
  // Everything passed by reference outlives this. It also watches the calls of a device that `rank_progress` shows.
  Watchdog(ControlChannel& channel, const CallRecord& calls, const RankProgress& rank_progress, int rank,
           WatchdogSettings settings);

  // Any thread calls it after this rank's last call has failed. If the reason is that another rank called something
  // else, the job ends with 70, as above, some tenths of a second later.
  void doubt() noexcept { is_in_doubt_ = true; }

  // Any thread calls it when this rank makes no more calls. The rank still answers until has_left(). A rank that waits
  // for it then is out of step.
  void leave() noexcept { is_leaving_ = true; }
  bool has_left() const noexcept { return has_left_; }  // all ranks leave

  // Called in the guard's thread: ends the job with this code. One rank prints the message, and all ranks end.
  void end(ExitCode code, const std::string& message);

  void tick(double seconds) override;
  bool handle(int from, const ControlMessage& message) override;

 private:
  // An end that is in progress, from the moment when this rank learns of it to the end of the process.
  struct End {
    ExitCode code = ExitCode::kPeerLost;
    std::string message;  // "": another rank prints it
    double seconds = 0;   // until its next action
    bool is_told = false;
  };

  const WatchdogLimit& limit_here() const;
  double limit() const { return limit_here().seconds; }
  double turn() const;  // seconds that this rank lets lower ranks print first
  std::optional<Call> under_way() const;
  void settle();
  void say(const std::string& line) noexcept;
  void save_calls(const std::string& reason) noexcept;
  void ask(const std::optional<Call>& about);
  void compare(int from, const ControlMessage& theirs);
  void judge();
  bool should_warn() const;
  void warn();
  bool must_end() const;
  void go_on_ending(double seconds);
  void post(int to, const ControlMessage& message) noexcept;
  void tell(std::int64_t kind, std::int64_t number);

  ControlChannel& channel_;
  const RankCalls calls_;
  const RankProgress& rank_progress_;
  const WatchdogSettings settings_;
  Peers peers_;
  std::optional<Call> call_;  // in progress; if its sequence is below -1, this rank waits before a step
  double lasted_ = 0;
  double stood_still_ = 0;      // seconds; the longest standstill of this call since the warning
  double since_asked_ = -1;     // seconds; below 0: no rank asked yet
  double warn_in_ = -1;         // seconds; below 0: no warning is due
  bool is_warned_ = false;      // of this call, by any rank
  bool has_warned_ = false;     // by this rank
  std::vector<int> warned_of_;  // the ranks that did not answer then
  std::atomic<bool> is_in_doubt_{false}, is_leaving_{false}, has_left_{false};
  bool has_said_so_ = false;          // has told the others that it leaves
  int leaving_ = 0;                   // how many other ranks leave
  std::set<int> last_compared_with_;  // for a rank that leaves: the ranks that wait for it
  std::optional<End> end_;
  // Set by the threads that write the calls and the last line; nullptr: no such thread.
  std::shared_ptr<const std::atomic<bool>> is_saved_, is_said_;
};

}  // namespace eave
