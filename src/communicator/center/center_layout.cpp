#include "communicator/center/center_layout.h"

#include <algorithm>
#include <utility>

#include "eave/check.h"

namespace eave {

namespace {

constexpr std::size_t kWorthAMessage = 4096;

std::size_t divide_up(std::size_t whole, std::size_t parts) { return (whole + parts - 1) / parts; }

}  // namespace

std::size_t even_shard_size(std::size_t size, std::size_t longest, std::size_t owners) {
  const std::size_t kept = divide_up(size, owners);
  return std::min(longest, std::max(divide_up(kept, divide_up(kept, longest)), kWorthAMessage));
}

std::size_t shard_size_of(std::size_t size, std::size_t shards, std::size_t owners) {
  if (size == 0 || shards == 0) return kWorthAMessage;
  return std::max(divide_up(divide_up(size, owners), divide_up(shards, owners)), kWorthAMessage);
}

CenterLayout::CenterLayout(std::size_t size, std::size_t shard_size, std::vector<int> owners)
    : size_(size), shard_size_(shard_size), shards_(divide_up(size, shard_size)), owners_(std::move(owners)) {
  EAVE_CHECK(!owners_.empty() && shard_size > 0, "somebody keeps the center, in shards");
}

int CenterLayout::owner(std::size_t shard) const { return owners_[shard * owners_.size() / shards_]; }

Range CenterLayout::shard(std::size_t shard) const {
  const std::size_t begin = shard * shard_size_;
  return {begin, std::min(shard_size_, size_ - begin)};
}

std::size_t CenterLayout::index_of(int rank) const {
  return static_cast<std::size_t>(std::ranges::find(owners_, rank) - owners_.begin());
}

std::size_t CenterLayout::first_kept(int rank) const { return begin_of(index_of(rank)); }

std::size_t CenterLayout::count_kept(int rank) const {
  const std::size_t index = index_of(rank);
  return index == owners_.size() ? 0 : begin_of(index + 1) - begin_of(index);
}

std::vector<std::size_t> CenterLayout::dealt_out(std::size_t first) const {
  std::vector<std::size_t> shards;
  shards.reserve(shards_);
  for (std::size_t turn = 0; shards.size() < shards_; ++turn) {
    for (std::size_t k = 0; k < owners_.size(); ++k) {
      const std::size_t owner = (first + k) % owners_.size(), shard = begin_of(owner) + turn;
      if (shard < begin_of(owner + 1)) shards.push_back(shard);
    }
  }
  return shards;
}

Range CenterLayout::kept(int rank) const {
  const std::size_t begin = std::min(first_kept(rank) * shard_size_, size_);
  return {begin, std::min(count_kept(rank) * shard_size_, size_ - begin)};
}

}  // namespace eave
