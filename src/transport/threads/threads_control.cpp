#include "transport/threads/threads_control.h"

#include <string>

#include "eave/check.h"

namespace eave {

void ThreadsControl::connect(int rank, std::vector<ThreadsControl>& all) {
  rank_ = rank;
  all_ = &all;
}

void ThreadsControl::post(int to, const ControlMessage& message) {
  EAVE_CHECK(to != rank_ && to >= 0 && to < static_cast<int>(all_->size()), "a message to rank " + std::to_string(to));
  ThreadsControl& other = (*all_)[static_cast<std::size_t>(to)];
  const std::lock_guard lock(other.mutex_);
  other.come_.emplace_back(rank_, message);
}

void ThreadsControl::tell_loss(int rank) {
  const std::lock_guard lock(mutex_);
  come_.emplace_back(rank, ControlMessage{kRankIsLost, {}});
}

bool ThreadsControl::poll(ControlMessage& message, int& from) {
  const std::lock_guard lock(mutex_);
  if (come_.empty()) return false;
  from = come_.front().first;
  message = come_.front().second;
  come_.pop_front();
  return true;
}

}  // namespace eave
