// Carries the messages of a LeaveGate to the other ranks.
#pragma once

#include <atomic>

#include "guard/guard.h"
#include "guard/leave_gate.h"

namespace eave {

class LeaveTask final : public GuardTask {
 public:
  // `asked` is set by a signal handler or a thread that asks this rank to leave; nullptr: nobody does. `channel` may be
  // nullptr; then a job with several ranks cannot leave. All of them outlive this. `limit_seconds`: as in LeaveGate.
  LeaveTask(ControlChannel* channel, int rank, int ranks, const std::atomic<bool>* asked, double limit_seconds);

  LeaveGate& gate() { return gate_; }
  bool can_leave() const { return can_leave_; }
  void look(double seconds) override;
  bool take(int from, const ControlMessage& message) override;

 private:
  void post(int to, const LeaveMessage& message);

  ControlChannel* const channel_;
  const std::atomic<bool>* const asked_;
  const bool can_leave_;
  LeaveGate gate_;
};

}  // namespace eave
