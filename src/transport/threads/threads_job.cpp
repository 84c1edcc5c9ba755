#include "transport/threads/threads_job.h"

#include <algorithm>
#include <thread>

#include "base/thread.h"
#include "eave/check.h"
#include "transport/core/background_transport.h"
#include "transport/core/failure.h"
#include "transport/core/transport_base.h"
#include "transport/threads/threads_wire.h"

namespace eave {
namespace {

// The job's outcome is that of the first rank that failed. The others fail only because they lose it.
struct RankOutcome {
  std::mutex mutex;
  int code = 0;
};

void run_rank(ThreadsJob& job, int rank, const std::function<void(Transport&)>& body, RankOutcome& outcome) noexcept {
  const std::optional<Failure> failure = failure_of([&] {
    BackgroundTransport transport(std::make_unique<ThreadsWire>(job, rank));
    body(transport);
  });
  if (!failure) return;
  const std::lock_guard lock(outcome.mutex);
  const bool first = job.lose(rank);
  if (first) outcome.code = static_cast<int>(failure->code);
  if (failure->agreed ? rank == 0 : first) print_failure(*failure, rank, job.size());
}

}  // namespace

ThreadsJob::ThreadsJob(int size, std::string name)
    : name_(std::move(name)), services_(static_cast<std::size_t>(size)), controls_(services_.size()) {
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
  if (!part) place = part = std::make_shared<ThreadsJob>(static_cast<int>(ranks.size()), name_);
  if (lost_ >= 0) part->lose(lost_);
  return part;
}

bool ThreadsJob::lose(int rank) noexcept {
  int nobody = -1;
  const bool first = lost_.compare_exchange_strong(nobody, rank) || nobody == rank;
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

int run_threads_job(int ranks, const std::string& name, const std::function<void(Transport&)>& body) {
  ThreadsJob job(std::max(ranks, 1), name);
  RankOutcome outcome;
  std::vector<std::thread> threads;
  const std::optional<Failure> failure = failure_of([&] {
    if (ranks < 1) throw Error(ExitCode::kUsage, "the number of ranks must be 1 or more, not " + std::to_string(ranks));
    for (int rank = 1; rank < ranks; ++rank) {
      threads.push_back(
          start_thread("for rank " + std::to_string(rank), [&, rank] { run_rank(job, rank, body, outcome); }));
    }
  });
  if (failure) {
    print_failure(*failure, 0, 1);
    outcome.code = static_cast<int>(failure->code);
    job.lose(0);
  } else {
    run_rank(job, 0, body, outcome);
  }
  for (std::thread& thread : threads) thread.join();
  return outcome.code;
}

}  // namespace eave
