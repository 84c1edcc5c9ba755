// Finds ranks that call different functions of eave.h where all must call the same.
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

// A collective call of a rank. `step`: from 1, the step that the rank is in; of calls between steps, the last one done.
struct InterfaceCall {
  enum class Function : std::int64_t { kOpen, kStep, kConsensus, kClose, kSum, kBroadcast, kCompare, kStop };
  Function function = Function::kStep;
  std::int64_t step = 0;
  bool counts = true;  // all ranks make it as their call of the same number; a step that ranks take freely does not
};

// While a call lasts, this rank asks the others what their call of the same number was. If it was another function, no
// rank can go on: the job ends with 69, and the message says where each of the two is. Ranks that have not come so far
// yet are the Watchdog's affair.
class CallWatch final : public GuardTask {
 public:
  // `channel` outlives it. `end` ends the job; called by the guard's thread. A call may last for `patience` seconds
  // before anybody is asked. `generation`: of this watch in its process, the same on all ranks; messages of another
  // are dropped.
  CallWatch(ControlChannel& channel, int rank, std::vector<std::string> hosts, double patience, std::int64_t generation,
            std::function<void(ExitCode, const std::string&)> end);

  // The thread that calls. `leave(false)`: the call did nothing, and does not count.
  void enter(const InterfaceCall& call);
  void leave(bool counts);
  // Any thread: the last call has failed, maybe because another rank called something else. Asks at once.
  void doubt() noexcept { is_in_doubt_ = true; }

  void look(double seconds) override;
  bool take(int from, const ControlMessage& message) override;

 private:
  static constexpr std::size_t kKept = 256;
  struct Numbered {
    std::int64_t number = -1;
    InterfaceCall call;
  };

  std::optional<Numbered> last() const;  // the one under way, or the last one
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

  // Only the guard's thread uses these.
  std::int64_t looked_at_ = -1;
  double lasted_ = 0;
  bool has_ended_ = false;
};

}  // namespace eave
