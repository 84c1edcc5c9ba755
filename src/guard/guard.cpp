#include "guard/guard.h"

#include <algorithm>
#include <utility>

#include "base/thread.h"

namespace eave {

Guard::Guard(ControlChannel* channel, std::vector<GuardTask*> tasks, std::chrono::nanoseconds period)
    : channel_(channel), tasks_(std::move(tasks)), period_(period) {
  thread_ = start_thread("to watch over this rank", [this] { run(); });
}

Guard::~Guard() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    ended_.notify_one();
  }
  thread_.join();
}

void Guard::run() noexcept {
  const std::chrono::nanoseconds most = 4 * period_;
  for (auto last = std::chrono::steady_clock::now(); !is_ended();) {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> seconds = std::min<std::chrono::nanoseconds>(now - last, most);
    last = now;
    handle_messages();
    for (GuardTask* task : tasks_) task->tick(seconds.count());
  }
}

void Guard::shorten_period() noexcept {
  const std::lock_guard lock(mutex_);
  period_ = std::chrono::milliseconds(1);
  ended_.notify_one();
}

bool Guard::is_ended() {
  std::unique_lock lock(mutex_);
  if (!is_ending_) ended_.wait_for(lock, period_);
  return is_ending_;
}

// The channel fails only if the network does. Then lost ranks are silent, and the operations report the error.
void Guard::handle_messages() noexcept try {
  ControlMessage message;
  int from = 0;
  while (channel_ && channel_->poll(message, from))
    std::ranges::any_of(tasks_, [&](GuardTask* task) { return task->handle(from, message); });
} catch (const Error&) {
}

}  // namespace eave
