// The state that ranks share if they are threads of one process.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "eave/transport.h"
#include "transport/threads/meeting.h"
#include "transport/threads/threads_control.h"

namespace eave {

class ThreadsJob {
 public:
  explicit ThreadsJob(int size);
  int size() const { return static_cast<int>(desks_.size()); }

  // The barrier of these ranks (empty: all ranks). It is made at their first meeting.
  Meeting& meeting_of(std::span<const int> ranks);

  // A job of these ranks alone. All that ask get the same job while one of them has it.
  std::shared_ptr<ThreadsJob> part_of(const std::vector<int>& ranks);

  ControlChannel* control(int rank) { return &controls_[static_cast<std::size_t>(rank)]; }

  // Reports that a rank is lost, and wakes all that wait, also in parts of this job. Returns whether it is the first
  // lost rank.
  bool lose(int rank) noexcept;

  // Call it while no rank sends requests.
  void serve(int rank, Service* service);
  void withdraw(int rank) noexcept;
  // Runs the owner's service in the calling thread. False: it is not that request's turn.
  bool answer(int from, const ServiceRequest& request);
  // Answers given so far, by all owners.
  std::int64_t answers();
  // Blocks until there are more than `seen` answers. Throws Error(kPeerLost) if a rank is lost.
  void await_answers_beyond(std::int64_t seen);

 private:
  struct Desk {
    std::mutex mutex;
    Service* service = nullptr;
    bool is_withdrawn = false;
  };
  void count_answer();

  LostRank lost_{-1};
  std::vector<Desk> desks_;
  std::vector<ThreadsControl> controls_;
  std::mutex meetings_mutex_;
  std::vector<std::unique_ptr<Meeting>> meetings_;  // the first is the barrier of all ranks
  std::map<std::vector<int>, std::weak_ptr<ThreadsJob>> parts_;
  std::mutex answers_mutex_;
  std::condition_variable answered_;
  std::int64_t answers_ = 0;
  int waiting_ = 0;
};

}  // namespace eave
