// The state that ranks share if they are threads of one process: control messages, barriers and services.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eave/transport.h"
#include "transport/threads/thread_barrier.h"

namespace eave {

// The kind of a message that reports that its sender is lost: that rank answers nobody any more. Over MPI there is no
// such message, because ranks do not outlive one that is lost.
inline constexpr std::int64_t kRankIsLost = -1;

// The channel of one rank, with the messages that have come for it.
class ThreadsControl final : public ControlChannel {
 public:
  // `all` has the channels of all ranks in rank order, this one included. It outlives this and does not move.
  void connect(int rank, std::vector<ThreadsControl>& all);

  void post(int to, const ControlMessage& message) override;
  bool poll(ControlMessage& message, int& from) override;
  // Puts a message of kind kRankIsLost from `rank` into this channel.
  void tell_loss(int rank);

 private:
  int rank_ = 0;
  std::vector<ThreadsControl>* all_ = nullptr;
  std::mutex mutex_;
  std::deque<std::pair<int, ControlMessage>> come_;  // sender and message
};

// The barriers, control channels and services of the ranks of one process.
class ThreadsJob {
 public:
  ThreadsJob(int size, std::string name);
  const std::string& name() const { return name_; }  // of the transport
  int size() const { return static_cast<int>(services_.size()); }

  // The barrier of these ranks (empty: all ranks). It is made at its first use.
  ThreadBarrier& barrier_of(std::span<const int> ranks);

  // A job of these ranks alone. All that ask get the same job while one of them has it.
  std::shared_ptr<ThreadsJob> part_of(const std::vector<int>& ranks);

  ControlChannel* control(int rank) { return &controls_[static_cast<std::size_t>(rank)]; }

  // Reports that a rank is lost, and wakes all that wait, also in parts of this job. Returns whether it is the first
  // rank that was lost, whether by this call or by an earlier one.
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
  struct RankService {
    std::mutex mutex;
    Service* service = nullptr;
    bool is_withdrawn = false;
  };
  void count_answer();

  const std::string name_;
  LostRank lost_{-1};
  std::vector<RankService> services_;
  std::vector<ThreadsControl> controls_;
  std::mutex barriers_mutex_;
  std::vector<std::unique_ptr<ThreadBarrier>> barriers_;  // the first is the barrier of all ranks
  std::map<std::vector<int>, std::weak_ptr<ThreadsJob>> parts_;
  std::mutex answers_mutex_;
  std::condition_variable answered_;
  std::int64_t answers_ = 0;
  int waiting_ = 0;
};

// TransportKind::run for transports whose ranks are threads of this process.
int run_threads_job(int ranks, const std::string& name, const std::function<void(Transport&)>& body);

}  // namespace eave
