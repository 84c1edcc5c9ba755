// All ranks leave together when one of them is asked to, after the same step.
//
// Each step passes the gate. A rank that learns that somebody was asked closes its own behind the step that it is in,
// and tells rank 0 where that is; rank 0 tells all the furthest of these, and up to there gates open again. Nobody is
// past the furthest, and all can reach it: no exchange that anybody waits for lies beyond it. While nobody is asked, it
// costs a step one lock that nobody else holds.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <vector>

namespace eave {

struct LeaveMessage {
  enum class Kind : std::int64_t { kAsked, kClosedBefore, kLeaveBefore };
  Kind kind = Kind::kAsked;
  std::int64_t step = 0;
};

class LeaveGate {
 public:
  // `post` carries a message to another rank; it does not wait. Ranks agree within `limit_seconds`; 0: they wait for
  // ever.
  LeaveGate(int rank, int ranks, std::function<void(int to, const LeaveMessage&)> post, double limit_seconds = 0);

  // The thread that computes: before each step, in their order, from any on. False: all ranks leave before this one.
  // Waits while ranks agree. Throws Error(kPeerLost) where they do not in time.
  bool may_begin(std::int64_t step);
  // Any thread: a rank is lost, and will not tell. Nobody waits in may_begin any more.
  void give_up();
  // The thread that computes: all are to leave, as when this rank is asked.
  void want() { is_wanted_ = true; }
  bool is_wanted() const { return is_wanted_; }

  // The thread that posts and receives; `ask` may be called again.
  void ask();
  void receive(int from, const LeaveMessage& message);

 private:
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();

  void close();
  void note(int rank, std::int64_t step);
  void open_until(std::int64_t step);
  [[noreturn]] void fail() const;

  const int rank_;
  const std::function<void(int, const LeaveMessage&)> post_;
  const double limit_seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t begun_ = 0;       // steps before this one have been begun
  std::int64_t closed_ = kOpen;  // this step and those behind it may not be begun
  bool is_agreed_ = false;
  bool is_closed_ = false;  // of the thread that posts
  std::atomic<bool> is_wanted_{false};
  std::vector<std::atomic<std::int64_t>> closed_at_;  // rank 0: of each rank, -1 where it has not told
};

}  // namespace eave
