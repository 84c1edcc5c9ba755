// Ranks as threads of one process: they read each other's memory.
//
// Allreduce: every rank sums its own 1/p of all ranks' slices, in rank order, and writes the sum to all of them.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "eave/transport.h"
#include "transport/background.h"
#include "transport/failure.h"

namespace eave {
namespace {

using Request = Operation::Request;

// Where the communication threads of all ranks meet. An operation lies between meet() and part(): after meet() every
// rank's request may be read and its slice touched by all; after part() it is its owner's again.
class Group {
 public:
  explicit Group(int size) : requests_(static_cast<std::size_t>(size)) {}
  int size() const { return static_cast<int>(requests_.size()); }

  // Throws Error(kPeerLost) when a rank is lost before all have come, Error(kInternal) when their requests do not
  // match.
  const std::vector<Request>& meet(int rank, const Request& request) {
    std::unique_lock lock(mutex_);
    requests_[static_cast<std::size_t>(rank)] = request;
    if (lost_ < 0) arrive(lock, [this] { return lost_ >= 0; });
    if (lost_ >= 0 && !all_in_) throw Error(ExitCode::kPeerLost, "rank " + std::to_string(lost_) + " has left the job");
    check_in_step();
    return requests_;
  }

  // Everybody met, so everybody comes here: it cannot fail, and no rank leaves while another reads its memory.
  void part() {
    std::unique_lock lock(mutex_);
    arrive(lock, [] { return false; });
  }

  // Returns whether this rank is the first that is lost.
  bool lose(int rank) noexcept {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    return std::exchange(lost_, lost_ < 0 ? rank : lost_) < 0;
  }

 private:
  template <class GiveUp>
  void arrive(std::unique_lock<std::mutex>& lock, GiveUp give_up) {
    const std::int64_t phase = phase_;
    if (++arrived_ == size()) {
      arrived_ = 0;
      ++phase_;
      all_in_ = !all_in_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return phase_ != phase || give_up(); });
  }

  void check_in_step() const {
    const Request& first = requests_.front();
    for (std::size_t rank = 1; rank < requests_.size(); ++rank) {
      const Request& other = requests_[rank];
      EAVE_CHECK(other.verb == first.verb && other.root == first.root && other.values.size() == first.values.size(),
                 "ranks are out of step: rank 0 is at an operation on " + std::to_string(first.values.size()) +
                     " values, rank " + std::to_string(rank) + " at another, on " +
                     std::to_string(other.values.size()));
    }
  }

  std::vector<Request> requests_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t phase_ = 0;
  int arrived_ = 0;
  bool all_in_ = false;  // between the last meet() and the last part()
  int lost_ = -1;
};

void sum_into_all(const std::vector<Request>& requests, std::size_t begin, std::size_t end) {
  std::array<float, 4096> sum;
  for (std::size_t at = begin; at < end; at += sum.size()) {
    const std::size_t n = std::min(sum.size(), end - at);
    std::copy_n(requests.front().values.data() + at, n, sum.data());
    for (std::size_t rank = 1; rank < requests.size(); ++rank) {
      const float* other = requests[rank].values.data() + at;
      for (std::size_t i = 0; i < n; ++i) sum[i] += other[i];
    }
    for (const Request& request : requests) std::copy_n(sum.data(), n, request.values.data() + at);
  }
}

class ThreadsWire final : public Wire {
 public:
  ThreadsWire(Group& group, int rank) : group_(group), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return group_.size(); }
  std::string name() const override { return "threads"; }
  bool reaches(DeviceKind device) const override { return device == DeviceKind::kCpu; }

  void all_reduce_sum(Slice values) override {
    const auto& requests = group_.meet(rank_, {.verb = Operation::Verb::kAllReduceSum, .values = values});
    const auto rank = static_cast<std::size_t>(rank_);
    const std::size_t share = values.size() / requests.size(), rest = values.size() % requests.size();
    const std::size_t begin = rank * share + std::min(rank, rest);
    sum_into_all(requests, begin, begin + share + (rank < rest ? 1 : 0));
    group_.part();
  }

  void broadcast(Slice values, int root) override {
    const auto& requests = group_.meet(rank_, {.verb = Operation::Verb::kBroadcast, .values = values, .root = root});
    if (rank_ != root) std::ranges::copy(requests[static_cast<std::size_t>(root)].values, values.begin());
    group_.part();
  }

  std::vector<std::string> all_gather(const std::string& mine) override {
    const auto& requests = group_.meet(rank_, {.verb = Operation::Verb::kAllGather, .mine = &mine});
    std::vector<std::string> all;
    for (const Request& request : requests) all.push_back(*request.mine);
    group_.part();
    return all;
  }

  void abort(ExitCode) noexcept override { group_.lose(rank_); }

 private:
  Group& group_;
  const int rank_;
};

// Outcome of the job: that of the first rank that failed. The others fail only because they lose it.
struct Outcome {
  std::mutex mutex;
  int code = 0;
};

void run_rank(Group& group, int rank, const std::function<void(Transport&)>& body, Outcome& outcome) noexcept {
  const std::optional<Failure> failure = failure_of([&] {
    BackgroundTransport transport(std::make_unique<ThreadsWire>(group, rank));
    body(transport);
  });
  if (!failure) return;
  const std::lock_guard lock(outcome.mutex);
  const bool first = group.lose(rank);
  if (first) outcome.code = static_cast<int>(failure->code);
  if (failure->agreed ? rank == 0 : first) print_failure(*failure, rank, group.size());
}

int run_threads(int ranks, const std::function<void(Transport&)>& body) {
  Group group(std::max(ranks, 1));
  Outcome outcome;
  std::vector<std::thread> threads;
  const std::optional<Failure> failure = failure_of([&] {
    if (ranks < 1) throw Error(ExitCode::kUsage, "the number of ranks must be 1 or more, not " + std::to_string(ranks));
    for (int rank = 1; rank < ranks; ++rank) threads.emplace_back([&, rank] { run_rank(group, rank, body, outcome); });
  });
  if (failure) {
    print_failure(*failure, 0, 1);
    outcome.code = static_cast<int>(failure->code);
    group.lose(0);
  } else {
    run_rank(group, 0, body, outcome);
  }
  for (std::thread& thread : threads) thread.join();
  return outcome.code;
}

}  // namespace

TransportKind describe_transport_threads() {
  return {"threads", "ranks as threads of one process: for tests, and for a laptop without MPI", run_threads};
}

}  // namespace eave
