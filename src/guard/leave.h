// Graceful shutdown: lets all ranks leave after the same step when one of them is asked to leave.
//
// Each step passes the gate (LeaveGate). When a rank learns that some rank was asked, it closes its gate behind its
// current step and tells rank 0 which step that is. Rank 0 tells all ranks the furthest of these steps, and the gates
// open up to it. No rank is past the furthest step. Every rank can reach it: no exchange that a rank waits for lies
// beyond it. While no rank is asked, a step costs one lock that no other thread holds.
//
// A rank that only keeps the center waits for nobody in its steps. If nothing held it back, it would reach the next
// meeting of all ranks at once, and no rank could leave before that meeting. So rank 0, which always trains, tells such
// ranks how far it is, and their gates let them go only little further (pace).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "guard/guard.h"
#include "guard/rank_progress.h"

namespace eave {

struct LeaveMessage {
  // kMayBeginBefore is for the pace; the others are for leaving.
  enum class Kind : std::int64_t { kAsked, kClosedBefore, kLeaveBefore, kMayBeginBefore };
  Kind kind = Kind::kAsked;
  std::int64_t step = 0;
};

// Holds back the training thread before each step, and agrees with the other ranks after which step all leave.
class LeaveGate {
 public:
  // `post` sends a message to another rank without waiting. `limit_seconds`: how long ranks may take to agree; 0: no
  // limit.
  LeaveGate(int rank, int ranks, std::function<void(int to, const LeaveMessage&)> post, double limit_seconds = 0);

  // Call this first, on all ranks: ranks from `workers` on only keep the center, so they follow rank 0. `progress` is
  // told when such a rank waits.
  void pace(int workers, RankProgress& progress);

  // The training thread calls it before each step, in order, beginning with any step. Returns false if all ranks leave
  // before this step. Waits while the ranks agree. Throws Error(kPeerLost) if they do not agree in time.
  bool may_begin(std::int64_t step);
  // Any thread calls it when a rank is lost and so will not answer. Ends all waiting in may_begin.
  void give_up();
  // The training thread calls it if all ranks are to leave, as if this rank were asked.
  void want() { is_wanted_ = true; }
  bool is_wanted() const { return is_wanted_; }
  // Any thread calls it: whether this rank knows that some rank was asked. Ranks do not come to know it at the same
  // step.
  bool is_closed();

  // Only the thread that sends and receives messages calls these three. It may call `ask` again. It calls `tell_pace`
  // from time to time; `seconds`: since the last call.
  void ask();
  void tell_pace(double seconds);
  void receive(int from, const LeaveMessage& message);

 private:
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();

  void follow(std::unique_lock<std::mutex>& lock, std::int64_t step);
  void allow(std::int64_t step);
  void close();
  void note(int rank, std::int64_t step);
  void open_until(std::int64_t step);
  [[noreturn]] void fail() const;

  const int rank_;
  int workers_;
  RankProgress* progress_ = nullptr;
  const std::function<void(int, const LeaveMessage&)> post_;
  const double limit_seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t begun_ = 0;       // steps before this one have begun
  std::int64_t closed_ = kOpen;  // this step and later ones may not begin
  std::int64_t allowed_ = 1;     // on a rank that follows: this step and later ones may not begin
  bool is_agreed_ = false;
  bool is_closed_ = false;  // used by the messages' thread
  std::atomic<bool> is_wanted_{false};
  std::vector<std::atomic<std::int64_t>> closed_at_;  // on rank 0, by rank; -1: not told yet
  // On rank 0, used by the messages' thread: begun_ at the last call of tell_pace, steps per second, and the step told.
  std::int64_t seen_ = 0, told_ = 0;
  double rate_ = 0;
};

// Carries the messages of a LeaveGate to the other ranks.
class LeaveTask final : public GuardTask {
 public:
  // `asked` is set by a signal handler or a thread that asks this rank to leave; nullptr: nobody does. `channel` may be
  // nullptr; then a job with several ranks cannot leave. All of them outlive this. `limit_seconds`: as in LeaveGate.
  LeaveTask(ControlChannel* channel, int rank, int ranks, const std::atomic<bool>* asked, double limit_seconds);

  LeaveGate& gate() { return gate_; }
  bool can_leave() const { return can_leave_; }
  void tick(double seconds) override;
  bool handle(int from, const ControlMessage& message) override;

 private:
  void post(int to, const LeaveMessage& message);

  ControlChannel* const channel_;
  const std::atomic<bool>* const asked_;
  const bool can_leave_;
  LeaveGate gate_;
};

// For methods whose ranks do not leave after a step: prints once per job what happens after a rank was asked to leave.
class LeaveNotice final : public GuardTask {
 public:
  // `asked`: as in LeaveTask. `say` is called on rank 0. If there is no channel, it is called on every rank that is
  // asked.
  LeaveNotice(ControlChannel* channel, int rank, const std::atomic<bool>& asked, std::function<void()> say)
      : channel_(channel), rank_(rank), asked_(asked), say_(std::move(say)) {}

  void tick(double seconds) override;
  bool handle(int from, const ControlMessage& message) override;

 private:
  void say_once();

  ControlChannel* const channel_;
  const int rank_;
  const std::atomic<bool>& asked_;
  const std::function<void()> say_;
  bool has_seen_ = false, has_said_ = false;
};

}  // namespace eave
