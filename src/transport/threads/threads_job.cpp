#include "transport/threads/threads_job.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "eave/check.h"

namespace eave {

ThreadsJob::ThreadsJob(int size) : desks_(static_cast<std::size_t>(size)), controls_(desks_.size()) {
  for (int rank = 0; rank < size; ++rank) controls_[static_cast<std::size_t>(rank)].connect(rank, controls_);
  std::vector<int> all(desks_.size());
  std::iota(all.begin(), all.end(), 0);
  meetings_.push_back(std::make_unique<Meeting>(std::move(all), lost_));
}

Meeting& ThreadsJob::meeting_of(std::span<const int> ranks) {
  const std::lock_guard lock(meetings_mutex_);
  if (ranks.empty()) return *meetings_.front();
  const auto same = [&](const auto& meeting) { return std::ranges::equal(meeting->ranks(), ranks); };
  const auto place = std::ranges::find_if(meetings_, same);
  if (place != meetings_.end()) return **place;
  meetings_.push_back(std::make_unique<Meeting>(std::vector<int>(ranks.begin(), ranks.end()), lost_));
  return *meetings_.back();
}

std::shared_ptr<ThreadsJob> ThreadsJob::part_of(const std::vector<int>& ranks) {
  const std::lock_guard lock(meetings_mutex_);
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
    const std::lock_guard lock(meetings_mutex_);
    for (const auto& meeting : meetings_) meeting->wake();
    for (const auto& [ranks, place] : parts_)
      if (const std::shared_ptr<ThreadsJob> part = place.lock()) part->lose(rank);
  }
  const std::lock_guard lock(answers_mutex_);
  answered_.notify_all();
  return first;
}

void ThreadsJob::serve(int rank, Service* service) {
  Desk& desk = desks_[static_cast<std::size_t>(rank)];
  const std::lock_guard lock(desk.mutex);
  desk.service = service;
  desk.is_withdrawn = false;
}

void ThreadsJob::withdraw(int rank) noexcept {
  Desk& desk = desks_[static_cast<std::size_t>(rank)];
  const std::lock_guard lock(desk.mutex);
  desk.is_withdrawn = desk.is_withdrawn || desk.service;
  desk.service = nullptr;
}

bool ThreadsJob::answer(int from, const ServiceRequest& request) {
  if (lost_ >= 0) throw_lost(lost_);
  Desk& desk = desks_[static_cast<std::size_t>(request.owner)];
  {
    const std::lock_guard lock(desk.mutex);
    if (desk.is_withdrawn && from != request.owner) return false;
    EAVE_CHECK(desk.service, "rank " + std::to_string(request.owner) + " answers no requests");
    if (!desk.service->answer(from, request.key, request.values)) return false;
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

}  // namespace eave
