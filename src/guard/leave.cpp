#include "guard/leave.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "eave/check.h"
#include "transport/threads/threads_job.h"

namespace eave {

LeaveGate::LeaveGate(int rank, int ranks, std::function<void(int, const LeaveMessage&)> post, double limit_seconds)
    : rank_(rank),
      workers_(ranks),
      post_(std::move(post)),
      limit_seconds_(limit_seconds),
      closed_at_(static_cast<std::size_t>(ranks)) {
  for (auto& each : closed_at_) each = -1;
}

void LeaveGate::pace(int workers, RankProgress& progress) {
  workers_ = workers;
  progress_ = &progress;
}

// Waits on a rank that follows, until rank 0 is near the step or some rank is asked to leave. After a rollback, steps
// that were allowed once stay allowed.
void LeaveGate::follow(std::unique_lock<std::mutex>& lock, std::int64_t step) {
  if (step != begun_) allowed_ = std::max(allowed_, step + 1);  // the first step of a run that resumes
  const auto may_go_on = [&] { return step < allowed_ || closed_ != kOpen || is_agreed_; };
  if (may_go_on()) return;
  progress_->begin_to_wait();
  changed_.wait(lock, may_go_on);
  progress_->end_waiting();
}

// Allows the ranks that follow the steps that rank 0 will begin in the next moment, so that at a meeting of all ranks
// rank 0 need not wait for them.
void LeaveGate::tell_pace(double seconds) {
  constexpr double kAhead = 0.5, kMemory = 0.4;  // seconds
  const int ranks = static_cast<int>(closed_at_.size());
  if (rank_ != 0 || workers_ == ranks || seconds <= 0) return;
  std::int64_t begun = 0;
  {
    const std::lock_guard lock(mutex_);
    begun = begun_;
  }
  const double steps =
      seen_ > 0 ? static_cast<double>(std::max<std::int64_t>(begun - seen_, 0)) : 0;  // a run that resumes begins late
  seen_ = begun;
  rate_ += (steps / seconds - rate_) * std::min(1.0, seconds / kMemory);
  const std::int64_t allowed = begun + static_cast<std::int64_t>(std::max(rate_, 0.0) * kAhead);
  if (allowed <= told_) return;
  told_ = allowed;
  for (int to = workers_; to < ranks; ++to) post_(to, {LeaveMessage::Kind::kMayBeginBefore, allowed});
}

bool LeaveGate::may_begin(std::int64_t step) {
  std::unique_lock lock(mutex_);
  if (rank_ >= workers_) follow(lock, step);
  const auto may_go_on = [&] { return step < closed_ || is_agreed_; };
  if (limit_seconds_ <= 0) {
    changed_.wait(lock, may_go_on);
  } else if (!changed_.wait_for(lock, std::chrono::duration<double>(limit_seconds_), may_go_on)) {
    fail();
  }
  if (step >= closed_) return false;
  begun_ = step + 1;
  return true;
}

void LeaveGate::fail() const {
  std::string silent;
  for (std::size_t rank = 0; rank_ == 0 && rank < closed_at_.size(); ++rank) {
    if (closed_at_[rank] < 0) silent += (silent.empty() ? "" : ", ") + std::to_string(rank);
  }
  throw Error(
      ExitCode::kPeerLost,
      "asked to leave, but for " + std::to_string(static_cast<int>(limit_seconds_)) + " s " +
          (rank_ == 0 ? "rank " + silent + " has not answered" : std::string("rank 0 has not said after which step")) +
          "; no checkpoint was written, so a resumed run goes on from the newest one");
}

void LeaveGate::give_up() {
  const std::lock_guard lock(mutex_);
  is_agreed_ = true;
  changed_.notify_all();
}

bool LeaveGate::is_closed() {
  const std::lock_guard lock(mutex_);
  return closed_ != kOpen;
}

void LeaveGate::ask() {
  if (is_closed_) return;
  for (int to = 0; to < static_cast<int>(closed_at_.size()); ++to) {
    if (to != rank_) post_(to, {LeaveMessage::Kind::kAsked});
  }
  close();
}

void LeaveGate::receive(int from, const LeaveMessage& message) {
  switch (message.kind) {
    case LeaveMessage::Kind::kAsked:
      return close();
    case LeaveMessage::Kind::kClosedBefore:
      return note(from, message.step);
    case LeaveMessage::Kind::kLeaveBefore:
      return open_until(message.step);
    case LeaveMessage::Kind::kMayBeginBefore:
      return allow(message.step);
  }
}

void LeaveGate::close() {
  if (is_closed_) return;
  is_closed_ = true;
  std::int64_t step = 0;
  {
    const std::lock_guard lock(mutex_);
    step = closed_ = begun_;
    changed_.notify_all();
  }
  if (rank_ == 0) return note(0, step);
  post_(0, {LeaveMessage::Kind::kClosedBefore, step});
}

void LeaveGate::allow(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  allowed_ = std::max(allowed_, step);
  changed_.notify_all();
}

void LeaveGate::note(int rank, std::int64_t step) {
  closed_at_[static_cast<std::size_t>(rank)] = step;
  std::int64_t furthest = 0;
  for (const auto& each : closed_at_) {
    if (each < 0) return;
    furthest = std::max(furthest, each.load());
  }
  for (int to = 1; to < static_cast<int>(closed_at_.size()); ++to) {
    post_(to, {LeaveMessage::Kind::kLeaveBefore, furthest});
  }
  open_until(furthest);
}

void LeaveGate::open_until(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  closed_ = step;
  is_agreed_ = true;
  changed_.notify_all();
}

LeaveTask::LeaveTask(ControlChannel* channel, int rank, int ranks, const std::atomic<bool>* asked, double limit_seconds)
    : channel_(channel),
      asked_(asked),
      can_leave_(channel || ranks == 1),
      gate_(
          rank, ranks, [this](int to, const LeaveMessage& message) { post(to, message); }, limit_seconds) {}

void LeaveTask::tick(double seconds) {
  if (can_leave_) gate_.tell_pace(seconds);
  const bool is_asked = asked_ && *asked_;
  if (can_leave_ && (is_asked || gate_.is_wanted())) gate_.ask();
}

bool LeaveTask::handle(int from, const ControlMessage& message) {
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

// The channel fails only if the network does. The watchdog handles that.
void LeaveNotice::tick(double) try {
  if (!asked_ || std::exchange(has_seen_, true)) return;
  if (rank_ == 0 || !channel_) return say_once();
  channel_->post(0, {kLeaveNotices, {}});
} catch (const Error&) {
}

bool LeaveNotice::handle(int, const ControlMessage& message) {
  if (message.kind != kLeaveNotices) return false;
  say_once();
  return true;
}

void LeaveNotice::say_once() {
  if (!std::exchange(has_said_, true)) say_();
}

}  // namespace eave
