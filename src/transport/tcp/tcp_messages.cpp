#include "transport/tcp/tcp_messages.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "transport/core/transport_base.h"

namespace eave {
namespace {

constexpr int kSplitTag = 63;

int place_in(const std::vector<int>& ranks, int rank) {
  return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
}

}  // namespace

TcpMessages::TcpMessages(std::shared_ptr<TcpLinks> links)
    : TcpMessages(links, all_ranks(links->size()), links->next_channel++) {}

TcpMessages::TcpMessages(std::shared_ptr<TcpLinks> links, std::vector<int> ranks, std::uint32_t channel)
    : Messages(place_in(ranks, links->rank()), static_cast<int>(ranks.size()), links->mutex()),
      links_(std::move(links)),
      ranks_(std::move(ranks)),
      channel_(channel) {}

bool TcpMessages::advance(Requests& requests) {
  if (requests.empty()) return false;
  const std::lock_guard lock(mutex());
  const std::size_t before = requests.size();
  while (!requests.empty() && links_->locked_finish(requests.back())) requests.pop_back();
  return requests.size() < before;
}

void TcpMessages::await_any(Bytes bytes, int tag) {
  awaited_ = bytes;
  awaited_tag_ = tag;
}

std::optional<int> TcpMessages::take_any() {
  const std::lock_guard lock(mutex());
  return links_->locked_take(awaited_, ranks_, channel_, awaited_tag_);
}

// All ranks tell each other their part and the lowest number of a channel that they have never used.
std::unique_ptr<Messages> TcpMessages::split(int part) {
  using Told = std::array<std::int64_t, 2>;
  const Told mine = {part, links_->next_channel};
  std::vector<Told> told(ranks_.size(), mine);
  Requests requests;
  {
    const std::lock_guard lock(mutex());
    for (int place = 0; place < size(); ++place) {
      if (place == rank()) continue;
      receive(std::as_writable_bytes(std::span(&told[static_cast<std::size_t>(place)], 1)), place, kSplitTag, requests);
      send(std::as_bytes(std::span(&mine, 1)), place, kSplitTag, requests);
    }
  }
  while (!requests.empty())
    if (!advance(requests)) pause(std::chrono::milliseconds(1));
  std::int64_t channel = 0;
  for (const Told& each : told) channel = std::max(channel, each[1]);
  links_->next_channel = static_cast<std::uint32_t>(channel + 1);
  if (part < 0) return nullptr;
  std::vector<int> ranks;
  for (std::size_t place = 0; place < ranks_.size(); ++place)
    if (told[place][0] == part) ranks.push_back(ranks_[place]);
  return std::make_unique<TcpMessages>(links_, std::move(ranks), static_cast<std::uint32_t>(channel));
}

void TcpMessages::abort(ExitCode code) noexcept { links_->abort(code); }

}  // namespace eave
