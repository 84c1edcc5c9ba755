#include "guard/leave_notice.h"

#include "eave/check.h"

namespace eave {

// The channel fails only if the network does. The watchdog handles that.
void LeaveNotice::look(double) try {
  if (!asked_ || std::exchange(has_seen_, true)) return;
  if (rank_ == 0 || !channel_) return say_once();
  channel_->post(0, {kLeaveNotices, {}});
} catch (const Error&) {
}

bool LeaveNotice::take(int, const ControlMessage& message) {
  if (message.kind != kLeaveNotices) return false;
  say_once();
  return true;
}

void LeaveNotice::say_once() {
  if (!std::exchange(has_said_, true)) say_();
}

}  // namespace eave
