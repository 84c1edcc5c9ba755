// What the ranks of a job share that are threads of one process.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "eave/transport.h"
#include "transport/meeting.h"
#include "transport/threads_control.h"

namespace eave {

class ThreadsJob {
 public:
  explicit ThreadsJob(int size);
  int size() const { return static_cast<int>(desks_.size()); }

  // Of these ranks (empty: all), made when they first meet.
  Meeting& meeting_of(std::span<const int> ranks);

  // A job of these ranks alone, the same for all that ask while one of them has it.
  std::shared_ptr<ThreadsJob> part_of(const std::vector<int>& ranks);

  ControlChannel* control(int rank) { return &controls_[static_cast<std::size_t>(rank)]; }

  // Returns whether this rank is the first that is lost. Wakes all who wait, in parts of this job too.
  bool lose(int rank) noexcept;

  // While no rank sends requests.
  void serve(int rank, Service* service);
  void withdraw(int rank) noexcept;
  // In the calling thread; false: not its turn.
  bool answer(int from, const ServiceRequest& request);
  // Answers so far, of all owners.
  std::int64_t answers();
  // Blocks while `seen` is all there are. Throws Error(kPeerLost) when a rank is lost.
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
  std::vector<std::unique_ptr<Meeting>> meetings_;  // the first is that of all ranks
  std::map<std::vector<int>, std::weak_ptr<ThreadsJob>> parts_;
  std::mutex answers_mutex_;
  std::condition_variable answered_;
  std::int64_t answers_ = 0;
  int waiting_ = 0;
};

}  // namespace eave
