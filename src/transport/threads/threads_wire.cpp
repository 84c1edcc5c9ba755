#include "transport/threads/threads_wire.h"

#include <algorithm>
#include <array>

#include "transport/core/text_routes.h"

namespace eave {
namespace {

using Request = Operation::Request;

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

}  // namespace

void ThreadsWire::all_reduce_sum(Slice values, std::span<const int> ranks) {
  ThreadBarrier& barrier = job_.barrier_of(ranks);
  const auto& requests = barrier.enter(rank_, {.verb = Operation::Verb::kAllReduceSum, .values = values});
  const Slice mine = part_of(values, barrier.place_of(rank_), static_cast<int>(requests.size()));
  const auto begin = static_cast<std::size_t>(mine.data() - values.data());
  sum_into_all(requests, begin, begin + mine.size());
  barrier.leave();
}

// First checks that the ranks are in step. Then each rank expects what the others send.
void ThreadsWire::sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) {
  ThreadBarrier& barrier = job_.barrier_of(ranks);
  barrier.enter(rank_, {.verb = Operation::Verb::kAllReduceSum, .values = values});
  barrier.leave();
  compressed_.run(values, ranks, compression);
}

void ThreadsWire::start(std::size_t number, const ByteExchange& exchange) {
  if (exchanges_.size() <= number) exchanges_.resize(number + 1);
  exchanges_[number] = exchange;
}

void ThreadsWire::finish(std::size_t number) {
  const ByteExchange& exchange = exchanges_[number];
  ThreadBarrier& barrier = job_.barrier_of(exchange.ranks);
  const auto& requests = barrier.enter(rank_, {.verb = Operation::Verb::kExchange, .outgoing = exchange.outgoing});
  const auto mine = static_cast<std::size_t>(barrier.place_of(rank_));
  for (std::size_t other = 0; other < requests.size(); ++other) {
    if (other != mine) std::ranges::copy(requests[other].outgoing[mine], exchange.incoming[other].begin());
  }
  barrier.leave();
}

void ThreadsWire::broadcast(Slice values, int root) {
  ThreadBarrier& all = job_.barrier_of({});
  const auto& requests = all.enter(rank_, {.verb = Operation::Verb::kBroadcast, .values = values, .root = root});
  if (rank_ != root) std::ranges::copy(requests[static_cast<std::size_t>(root)].values, values.begin());
  all.leave();
}

std::vector<std::string> ThreadsWire::texts(const std::string& mine, TextRoute route) {
  ThreadBarrier& all = job_.barrier_of({});
  const auto& requests = all.enter(rank_, {.verb = verb_of(route), .mine = &mine});
  std::vector<std::string> texts;
  if (route == TextRoute::kFirstToEach)
    texts.push_back(unpack_texts(*requests[0].mine)[static_cast<std::size_t>(rank_)]);
  for (std::size_t from = 0; from < requests.size(); ++from)
    if (route != TextRoute::kFirstToEach && is_delivered(route, static_cast<int>(from), rank_))
      texts.push_back(*requests[from].mine);
  all.leave();
  return texts;
}

// The ranks that give the same part as this rank, ascending.
std::vector<int> ThreadsWire::members_of(int part) {
  const std::vector<std::string> parts = texts(std::to_string(part), TextRoute::kAllToAll);
  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank)
    if (parts[static_cast<std::size_t>(rank)] == std::to_string(part)) members.push_back(rank);
  return members;
}

// After the barrier all ranks have their job. Without it, a late rank could get a new job after the others had dropped
// theirs.
std::unique_ptr<Wire> ThreadsWire::split(int part) {
  const std::vector<int> members = members_of(part);
  std::shared_ptr<ThreadsJob> job = part < 0 ? nullptr : job_.part_of(members);
  wait_for_all();
  const auto place = static_cast<int>(std::ranges::find(members, rank_) - members.begin());
  return job ? std::make_unique<ThreadsWire>(std::move(job), place) : nullptr;
}

void ThreadsWire::wait_for_all() {
  ThreadBarrier& all = job_.barrier_of({});
  all.enter(rank_, {.verb = Operation::Verb::kServe});
  all.leave();
}

// A rank that comes here has no request open. So no rank sends requests between the two barriers.
void ThreadsWire::serve(Service* service) {
  wait_for_all();
  job_.serve(rank_, service);
  wait_for_all();
}

void ThreadsWire::request(std::span<const ServiceRequest> requests) {
  open_.clear();
  for (const ServiceRequest& each : requests) open_.push_back(&each);
  for (;;) {
    const std::int64_t seen = job_.answers();
    std::erase_if(open_, [this](const ServiceRequest* each) { return job_.answer(rank_, *each); });
    if (open_.empty()) return;
    job_.await_answers_beyond(seen);
  }
}

}  // namespace eave
