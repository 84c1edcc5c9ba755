#include "communicator/center/center_shards.h"

#include <algorithm>
#include <utility>

#include "eave/check.h"

namespace eave {
namespace {

constexpr std::int64_t kMostStale = 1000;

}  // namespace

std::size_t message_size(const Codec* codec, std::size_t values) {
  return codec ? (encoded_bytes(*codec, values) + sizeof(float) - 1) / sizeof(float) : values;
}

CenterShards::CenterShards(const CenterLayout& layout, int rank, Device& device, const std::vector<ConstSlice>& vectors,
                           CenterRule rule, const ExchangeOrder& order, std::shared_ptr<const Codec> codec)
    : rule_(std::move(rule)),
      order_(order),
      codec_(std::move(codec)),
      first_(layout.first_kept(rank)),
      shards_(layout.count_kept(rank)) {
  const Range kept = layout.kept(rank);
  for (const ConstSlice vector : vectors) {
    kept_.push_back(device.allocate_for_host(kept.size));
    std::ranges::copy(cut(vector, kept), kept_.back().data());
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      const Range shard = layout.shard(first_ + i);
      shards_[i].vectors.push_back(kept_.back().slice().subspan(shard.begin - kept.begin, shard.size));
    }
  }
  if (codec_ && !shards_.empty()) decoded_ = Buffer(shards_.front().vectors.front().size());
  if (order_.is_kept) {
    for (Shard& shard : shards_) shard.order.reserve(static_cast<std::size_t>(order_.exchanges));
  }
  if (first_ > 0 || shards_.empty()) return;
  last_exchange_.assign(static_cast<std::size_t>(order_.workers), -1);
  staleness_.assign(kMostStale + 1, 0);
}

bool CenterShards::answer(int from, std::int64_t key, Slice values) {
  const auto index = static_cast<std::size_t>(key) - first_;
  EAVE_CHECK(index < shards_.size() && from < order_.workers &&
                 values.size() == message_size(codec_.get(), shards_[index].vectors.front().size()),
             "a message of worker " + std::to_string(from) + " to shard " + std::to_string(key));
  if (!is_turn_of(from, index)) return false;
  Shard& shard = shards_[index];
  const std::int64_t exchanges = shard.exchanges++;
  meet(shard, values, order_.exchanges_before + exchanges);
  if (order_.is_kept) shard.order.push_back(static_cast<std::uint16_t>(from));
  if (index == 0 && !staleness_.empty()) count_staleness(from, exchanges);
  return true;
}

void CenterShards::meet(Shard& shard, Slice values, std::int64_t exchanges) {
  if (!codec_) return rule_(shard.vectors, values, exchanges);
  const Slice message = decoded_.slice().first(shard.vectors.front().size());
  decode(*codec_, message, reinterpret_cast<const std::byte*>(values.data()));
  rule_(shard.vectors, message, exchanges);
  encode(*codec_, message, reinterpret_cast<std::byte*>(values.data()));
}

bool CenterShards::is_turn_of(int worker, std::size_t shard) const {
  const auto exchanges = static_cast<std::size_t>(shards_[shard].exchanges);
  switch (order_.kind) {
    case ExchangeOrder::Kind::kFree:
      return true;
    case ExchangeOrder::Kind::kRoundRobin:
      return exchanges % static_cast<std::size_t>(order_.workers) == static_cast<std::size_t>(worker);
    case ExchangeOrder::Kind::kReplay:
      return order_.replay[(first_ + shard) * static_cast<std::size_t>(order_.exchanges) + exchanges] == worker;
  }
  return false;
}

void CenterShards::count_staleness(int worker, std::int64_t exchanges) {
  std::int64_t& last = last_exchange_[static_cast<std::size_t>(worker)];
  if (last >= 0) ++staleness_[static_cast<std::size_t>(std::min(exchanges - last - 1, kMostStale))];
  last = exchanges;
}

std::string CenterShards::order_bytes() const {
  std::string bytes;
  for (const Shard& shard : shards_) {
    bytes.append(reinterpret_cast<const char*>(shard.order.data()), shard.order.size() * sizeof(std::uint16_t));
  }
  return bytes;
}

}  // namespace eave
