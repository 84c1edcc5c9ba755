// Finds ranks that call different functions of eave.h in places where all must call the same one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "eave/check.h"
#include "guard/guard.h"

namespace eave {

// A collective call of a rank. `step`: the step that the rank is in, from 1; between steps, the last one done.
struct InterfaceCall {
  enum class Function : std::int64_t {
    kOpen,
    kStep,
    kConsensus,
    kClose,
    kSum,
    kBroadcast,
    kCompare,
    kStop,
    kSave,
    kRestore,
    kJoin,
    kRunOpen,
    kRunEvaluate,
    kRunClose,
    kMean,
    kState,
    kBegin
  };
  Function function = Function::kStep;
  std::int64_t step = 0;
  // Whether the call is numbered. Numbered calls come in the same order on all ranks. If a method lets ranks take steps
  // independently, its steps are not numbered. Its first step is a numbered kBegin, which also ranks without a step
  // take part in (Averager::tell_first_step).
  bool counts = true;
};

// While a call lasts, this rank asks the others for their call of the same number. If another rank called another
// function, no rank can go on. So the job ends with 69, and the message says where the two ranks are. Ranks that have
// not yet made that call are left to the Watchdog.
class CallWatch final : public GuardTask {
 public:
  // `channel` is not owned and outlives this. `end` ends the job, in the guard's thread. `patience`: seconds that a
  // call may last before the others are asked. `generation`: number of this watch in its process, the same on all
  // ranks. Messages of other generations are dropped.
  CallWatch(ControlChannel& channel, int rank, std::vector<std::string> hosts, double patience, std::int64_t generation,
            std::function<void(ExitCode, const std::string&)> end);

  // Called by the thread that makes the calls. `leave(false)`: the call did nothing, so its number is used again.
  void enter(const InterfaceCall& call);
  void leave(bool counts);
  // Any thread calls it after the last call has failed, maybe because another rank called something else. Asks at once.
  void doubt() noexcept { is_in_doubt_ = true; }

  void tick(double seconds) override;
  bool handle(int from, const ControlMessage& message) override;

 private:
  static constexpr std::size_t kKept = 256;
  struct Numbered {
    std::int64_t number = -1;
    InterfaceCall call;
  };

  std::optional<Numbered> last() const;  // the call in progress, or the last one
  std::optional<Numbered> numbered(std::int64_t number) const;
  void tell(int to, std::int64_t kind, const Numbered& call) noexcept;
  void compare(int from, const ControlMessage& message);
  std::string place(int rank, const InterfaceCall& call) const;

  ControlChannel& channel_;
  const int rank_;
  const std::vector<std::string> hosts_;
  const double patience_;
  const std::int64_t generation_;
  const std::function<void(ExitCode, const std::string&)> end_;

  mutable std::mutex mutex_;
  std::vector<Numbered> calls_{kKept};
  std::int64_t begun_ = 0;
  bool is_in_call_ = false;
  std::atomic<bool> is_in_doubt_{false};

  // Used only by the guard's thread.
  std::int64_t looked_at_ = -1;
  double lasted_ = 0;
  bool has_ended_ = false;
};

}  // namespace eave
