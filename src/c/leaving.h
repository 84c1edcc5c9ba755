// Lets all ranks leave after the same step when one of them is asked to, for a program with its own training loop.
#pragma once

#include <atomic>
#include <cstdint>

#include "guard/leave.h"

namespace eave {

// Whether this process was asked to leave.
const std::atomic<bool>& asked_to_leave();
// Any thread and any signal handler may call it.
void ask_to_leave() noexcept;
// Calls ask_to_leave when this signal comes, unless the program handles or ignores it. A second SIGUSR1 asks again. A
// second signal of another kind acts as if this function had not been called, so that it ends the process, unless it
// was only passed on twice (guard/repeated_signal.h). Throws Error(kUsage) if `signal` is not a signal that a program
// can handle.
void leave_on(int signal);

// Counts the steps of all averagers of this rank, and asks the gate after each of them.
class StepsUntilLeaving {
 public:
  explicit StepsUntilLeaving(LeaveGate& gate) : gate_(gate) {}

  // Called after each step. `together`: all ranks take this step, so they all leave after the same one. Otherwise each
  // rank leaves after its next step. Throws Error(kPeerLost) as LeaveGate::may_begin does.
  void after_step(bool together);
  // Another rank leaves, and it has told this rank in another way.
  void leave() { is_leaving_ = true; }
  bool is_leaving() const { return is_leaving_; }  // any thread may call it

 private:
  LeaveGate& gate_;
  std::int64_t together_ = 0;  // number of steps that all ranks took
  std::atomic<bool> is_leaving_{false};
};

}  // namespace eave
