// Finds out why a communication lasts so long, and ends a job that cannot go on.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eave/check.h"
#include "guard/guard.h"
#include "guard/peers.h"
#include "guard/whereabouts.h"
#include "transport/call_record.h"

namespace eave {

// How long a rank may be in one communication; 0: for ever.
struct WatchdogLimit {
  double seconds = 0;
  std::string name = {};  // as a message tells who wants to change it
};

struct WatchdogLimits {
  WatchdogLimit setup;
  WatchdogLimit step;  // evaluations too
  WatchdogLimit checkpoint;
};

struct WatchdogSettings {
  WatchdogLimits limits;
  std::vector<std::string> hosts;  // of all ranks
  std::string directory = {};      // of the job, for the calls; "": they are written nowhere
  // Prints a line on behalf of the job; ends this process at once.
  std::function<void(const std::string&)> say;
  std::function<void(ExitCode)> leave;
};

// While a call lasts, this rank asks the others by the control channel:
//     after 2 s, or an eighth of the limit, whether they are in the same call;
//     at a quarter of the limit, who does not answer, or answers and is elsewhere, is named once for the whole job;
//     at the limit the job ends with 69, unless all answer and some have moved on meanwhile;
//     two ranks in different calls where all have to meet end it at once, with 70.
// Of the ranks that have something to say the lowest speaks: each waits for its turn, and is silent when a lower one
// has told. Before the end each rank writes its last calls to a file.
class Watchdog final : public GuardTask {
 public:
  // All that is lent outlives it.
  Watchdog(ControlChannel& channel, const CallRecord& calls, const Whereabouts& whereabouts, int rank,
           WatchdogSettings settings);

  // In any thread: this rank's last call has failed. Where that is because another rank called something else, the job
  // ends with 70, as above, some tenths of a second later.
  void doubt() noexcept { is_in_doubt_ = true; }

  // In any thread: this rank calls nothing more. Until has_left() it still answers; who waits for it then is out of
  // step.
  void leave() noexcept { is_leaving_ = true; }
  bool has_left() const noexcept { return has_left_; }  // all ranks are leaving

  // In the guard's thread: the job ends with this code. A rank says the message, and all end.
  void end(ExitCode code, const std::string& message);

  void look(double seconds) override;
  bool take(int from, const ControlMessage& message) override;

 private:
  // From the first who knows of it to the end of the process.
  struct End {
    ExitCode code = ExitCode::kPeerLost;
    std::string message;  // "": another rank tells it
    double seconds = 0;   // to its next deed
    bool is_told = false;
  };

  const WatchdogLimit& limit_here() const;
  double limit() const { return limit_here().seconds; }
  double turn() const;  // how long this rank lets lower ones speak first
  void begin(const Call& call);
  void settle();
  void ask(const std::optional<Call>& about);
  void compare(int from, const ControlMessage& theirs);
  void judge();
  void warn();
  bool must_end() const;
  void go_on_ending(double seconds);
  void post(int to, const ControlMessage& message) noexcept;
  void tell(std::int64_t kind, std::int64_t number);

  ControlChannel& channel_;
  const CallRecord& calls_;
  const Whereabouts& whereabouts_;
  const WatchdogSettings settings_;
  Peers peers_;
  std::optional<Call> call_;  // that lasts
  double lasted_ = 0;
  double since_asked_ = -1;     // below 0: nobody is asked yet
  double warn_in_ = -1;         // seconds; below 0: nothing to warn of
  bool is_warned_ = false;      // of this call, by any rank
  bool has_warned_ = false;     // this one
  std::vector<int> warned_of_;  // those that did not answer then
  std::atomic<bool> is_in_doubt_{false}, is_leaving_{false}, has_left_{false};
  bool has_said_so_ = false;          // that it is leaving
  int leaving_ = 0;                   // others
  std::set<int> last_compared_with_;  // ranks that wait for this one, which is through
  std::optional<End> end_;
};

}  // namespace eave
