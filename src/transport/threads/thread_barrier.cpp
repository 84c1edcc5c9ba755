#include "transport/threads/thread_barrier.h"

#include <algorithm>
#include <string>
#include <utility>

#include "eave/check.h"

namespace eave {

void throw_lost(int rank) { throw Error(ExitCode::kPeerLost, "rank " + std::to_string(rank) + " has left the job"); }

ThreadBarrier::ThreadBarrier(std::vector<int> ranks, const LostRank& lost)
    : ranks_(std::move(ranks)), lost_(lost), requests_(ranks_.size()) {}

int ThreadBarrier::place_of(int rank) const {
  return static_cast<int>(std::ranges::lower_bound(ranks_, rank) - ranks_.begin());
}

const std::vector<Operation::Request>& ThreadBarrier::enter(int rank, const Operation::Request& request) {
  std::unique_lock lock(mutex_);
  requests_[static_cast<std::size_t>(place_of(rank))] = request;
  if (lost_ < 0) arrive(lock, [this] { return lost_ >= 0; });
  if (lost_ >= 0 && !all_in_) throw_lost(lost_);
  check_in_step();
  return requests_;
}

void ThreadBarrier::leave() {
  std::unique_lock lock(mutex_);
  arrive(lock, [] { return false; });
}

void ThreadBarrier::wake() noexcept {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

template <class GiveUp>
void ThreadBarrier::arrive(std::unique_lock<std::mutex>& lock, GiveUp give_up) {
  const std::int64_t phase = phase_;
  if (++arrived_ == ranks_.size()) {
    arrived_ = 0;
    ++phase_;
    all_in_ = !all_in_;
    changed_.notify_all();
    return;
  }
  changed_.wait(lock, [&] { return phase_ != phase || give_up(); });
}

void ThreadBarrier::check_in_step() const {
  const Operation::Request& first = requests_.front();
  for (std::size_t place = 1; place < requests_.size(); ++place) {
    const Operation::Request& other = requests_[place];
    EAVE_CHECK(other.verb == first.verb && other.root == first.root && other.values.size() == first.values.size(),
               "ranks are out of step: rank " + std::to_string(ranks_.front()) + " is at an operation on " +
                   std::to_string(first.values.size()) + " values, rank " + std::to_string(ranks_[place]) +
                   " at another, on " + std::to_string(other.values.size()));
  }
}

}  // namespace eave
