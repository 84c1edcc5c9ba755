#include "transport/threads/threads_job.h"

#include <algorithm>
#include <string>

#include "eave/check.h"
#include "transport/core/transport_base.h"

namespace eave {

ThreadsJob::ThreadsJob(int size) : services_(static_cast<std::size_t>(size)), controls_(services_.size()) {
  for (int rank = 0; rank < size; ++rank) controls_[static_cast<std::size_t>(rank)].connect(rank, controls_);
  barriers_.push_back(std::make_unique<ThreadBarrier>(all_ranks(size), lost_));
}

ThreadBarrier& ThreadsJob::barrier_of(std::span<const int> ranks) {
  const std::lock_guard lock(barriers_mutex_);
  if (ranks.empty()) return *barriers_.front();
  const auto same = [&](const auto& barrier) { return std::ranges::equal(barrier->ranks(), ranks); };
  const auto place = std::ranges::find_if(barriers_, same);
  if (place != barriers_.end()) return **place;
  barriers_.push_back(std::make_unique<ThreadBarrier>(std::vector<int>(ranks.begin(), ranks.end()), lost_));
  return *barriers_.back();
}

std::shared_ptr<ThreadsJob> ThreadsJob::part_of(const std::vector<int>& ranks) {
  const std::lock_guard lock(barriers_mutex_);
  std::weak_ptr<ThreadsJob>& place = parts_[ranks];
  std::shared_ptr<ThreadsJob> part = place.lock();
  if (!part) place = part = std::make_shared<ThreadsJob>(static_cast<int>(ranks.size()));
  if (lost_ >= 0) part->lose(lost_);
  return part;
}

bool ThreadsJob::lose(int rank) noexcept {
  int nobody = -1;
  const bool first = lost_.compare_exchange_strong(nobody, rank);
  for (ThreadsControl& control : controls_) control.tell_loss(rank);
  {
    const std::lock_guard lock(barriers_mutex_);
    for (const auto& barrier : barriers_) barrier->wake();
    for (const auto& [ranks, place] : parts_)
      if (const std::shared_ptr<ThreadsJob> part = place.lock()) part->lose(rank);
  }
  const std::lock_guard lock(answers_mutex_);
  answered_.notify_all();
  return first;
}

void ThreadsJob::serve(int rank, Service* service) {
  RankService& owner = services_[static_cast<std::size_t>(rank)];
  const std::lock_guard lock(owner.mutex);
  owner.service = service;
  owner.is_withdrawn = false;
}

void ThreadsJob::withdraw(int rank) noexcept {
  RankService& owner = services_[static_cast<std::size_t>(rank)];
  const std::lock_guard lock(owner.mutex);
  owner.is_withdrawn = owner.is_withdrawn || owner.service;
  owner.service = nullptr;
}

bool ThreadsJob::answer(int from, const ServiceRequest& request) {
  if (lost_ >= 0) throw_lost(lost_);
  RankService& owner = services_[static_cast<std::size_t>(request.owner)];
  {
    const std::lock_guard lock(owner.mutex);
    if (owner.is_withdrawn && from != request.owner) return false;
    EAVE_CHECK(owner.service, "rank " + std::to_string(request.owner) + " answers no requests");
    if (!owner.service->answer(from, request.key, request.values)) return false;
  }
  count_answer();
  return true;
}

void ThreadsJob::count_answer() {
  const std::lock_guard lock(answers_mutex_);
  ++answers_;
  if (waiting_ > 0) answered_.notify_all();
}

std::int64_t ThreadsJob::answers() {
  const std::lock_guard lock(answers_mutex_);
  return answers_;
}

void ThreadsJob::await_answers_beyond(std::int64_t seen) {
  std::unique_lock lock(answers_mutex_);
  ++waiting_;
  answered_.wait(lock, [&] { return answers_ != seen || lost_ >= 0; });
  --waiting_;
  if (lost_ >= 0) throw_lost(lost_);
}

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
