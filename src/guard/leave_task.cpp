#include "guard/leave_task.h"

#include "transport/threads/threads_control.h"

namespace eave {

LeaveTask::LeaveTask(ControlChannel* channel, int rank, int ranks, const std::atomic<bool>* asked, double limit_seconds)
    : channel_(channel),
      asked_(asked),
      can_leave_(channel || ranks == 1),
      gate_(
          rank, ranks, [this](int to, const LeaveMessage& message) { post(to, message); }, limit_seconds) {}

void LeaveTask::look(double) {
  const bool is_asked = asked_ && *asked_;
  if (can_leave_ && (is_asked || gate_.is_wanted())) gate_.ask();
}

bool LeaveTask::take(int from, const ControlMessage& message) {
  if (message.kind == kRankIsLost) {
    gate_.give_up();
    return true;
  }
  if (message.kind != kLeaveMessages) return false;
  gate_.receive(from, {static_cast<LeaveMessage::Kind>(message.numbers[0]), message.numbers[1]});
  return true;
}

// The channel fails only if the network does. The watchdog handles that.
void LeaveTask::post(int to, const LeaveMessage& message) try {
  channel_->post(to, {kLeaveMessages, {static_cast<std::int64_t>(message.kind), message.step}});
} catch (const Error&) {
}

}  // namespace eave
