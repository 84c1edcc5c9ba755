// The sums of MessageWire in memory that the ranks of a host share.
#include <algorithm>
#include <array>
#include <iterator>
#include <mutex>
#include <utility>

#include "transport/messages/message_wire.h"

namespace eave {
namespace {

enum MemoryTag { kToFirst = 12, kFromFirst };  // lower ones belong to the rest of MessageWire

}  // namespace

void MessageWire::share_memory() {
  const auto host_of = [&](int each) { return settings_.hosts[static_cast<std::size_t>(each)]; };
  std::ranges::copy_if(all_, std::back_inserter(of_host_), [&](int each) { return host_of(each) == host_of(rank()); });
  const auto place = static_cast<int>(std::ranges::find(of_host_, rank()) - of_host_.begin()),
             ranks = static_cast<int>(of_host_.size());
  memory_ = share_memory_of_host(SharedMemorySum::bytes_for(ranks));
  // share_memory_of_host is collective, so it is called in any case: ranks may have been given different transports.
  if (!settings_.sums_by_host) memory_.reset();
  if (!memory_) return;
  shared_memory_sum_.emplace(memory_->bytes(), place, ranks, [this](bool is_first) {
    messages_->pause({});
    if (server_.poll_requests() || is_first) backoff_.reset();
    return server_.is_open() ? backoff_.delay() : kLongestWait;
  });
}

// Collective among the ranks of this host. The first of them makes the memory. All of them get nullptr if the host has
// only one rank, or if one of them cannot get the memory. Ranks in separate containers cannot.
std::unique_ptr<SharedMemory> MessageWire::share_memory_of_host(std::size_t bytes) {
  if (of_host_.size() == 1) return nullptr;
  std::array<char, 64> address{};
  const bool is_first = rank() == of_host_.front();
  std::unique_ptr<SharedMemory> memory = is_first ? SharedMemory::create(bytes) : nullptr;
  if (memory) memory->address().copy(address.data(), address.size() - 1);
  carry_from_first(std::as_writable_bytes(std::span(address)), of_host_);
  if (!is_first) memory = SharedMemory::open(address.data(), bytes);
  return largest(memory ? 0 : 1, of_host_) > 0 ? nullptr : std::move(memory);
}

void MessageWire::carry_from_first(Bytes bytes, std::span<const int> ranks) {
  Requests requests;
  {
    const std::lock_guard lock(messages_->mutex());
    if (rank() != ranks.front()) receive(bytes, ranks.front(), kFromFirst, requests);
    for (const int peer : ranks)
      if (rank() == ranks.front() && peer != rank()) send(bytes, peer, kFromFirst, requests);
  }
  wait_for(requests);
}

// Collective among `ranks`: the largest number that one of them passes.
double MessageWire::largest(double mine, std::span<const int> ranks) {
  std::vector<double> all(ranks.size(), mine);
  Requests requests;
  {
    const std::lock_guard lock(messages_->mutex());
    if (rank() != ranks.front()) send(std::as_bytes(std::span(&mine, 1)), ranks.front(), kToFirst, requests);
    for (std::size_t place = 1; place < ranks.size() && rank() == ranks.front(); ++place)
      receive(std::as_writable_bytes(std::span(&all[place], 1)), ranks[place], kToFirst, requests);
  }
  wait_for(requests);
  double most = std::ranges::max(all);
  carry_from_first(std::as_writable_bytes(std::span(&most, 1)), ranks);
  return most;
}

void MessageWire::sum_on_host(Slice values) {
  for (std::size_t number = 0; number < lent_.size(); ++number) {
    const Lent& lent = lent_[number];
    const float* const begin = lent.mine.data();
    if (values.data() < begin || values.data() + values.size() > begin + lent.mine.size()) continue;
    const auto at = static_cast<std::uint64_t>(values.data() - begin) * lent_.size() + number;
    return shared_memory_sum_->sum_in_place(values, static_cast<std::ptrdiff_t>(lent.stride), at, history_);
  }
  shared_memory_sum_->all_reduce_sum(values, history_);
}

Slice MessageWire::lend(std::size_t size) {
  if (!shared_memory_sum_ || of_host_.size() != all_.size() || size == 0) return {};
  constexpr std::size_t kPage = 4096 / sizeof(float);
  const std::size_t ranks = all_.size(), stride = (size + kPage - 1) / kPage * kPage;
  std::unique_ptr<SharedMemory> memory = share_memory_of_host(ranks * stride * sizeof(float));
  if (!memory) return {};
  auto* const values = reinterpret_cast<float*>(memory->bytes().data());
  const Slice mine{values + static_cast<std::size_t>(rank()) * stride, size};
  lent_.push_back({std::move(memory), mine, stride});
  bytes_of_others_ += part_of(mine, rank(), this->size()).size_bytes() * (ranks - 1);
  return mine;
}

}  // namespace eave
