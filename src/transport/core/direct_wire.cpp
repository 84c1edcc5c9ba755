#include "transport/core/direct_wire.h"

#include <algorithm>

#include "transport/core/transport_base.h"

namespace eave {
namespace {

constexpr int kNobody = -1;

}  // namespace

DirectWire::DirectWire(ByteExchanger& messages, Device& device, int rank, int size, std::size_t part)
    : messages_(messages),
      device_(device),
      rank_(rank),
      part_(part),
      sums_(device.make_copy_queue()),
      all_(all_ranks(size)) {
  received_ = device.allocate(2 * part_ * (all_.size() - 1));
  for (auto& of_phase : exchanges_)
    for (Exchange& each : of_phase) each.outgoing.resize(all_.size()), each.incoming.resize(all_.size());
}

void DirectWire::join(std::span<const int> ranks) {
  ranks_ = ranks.empty() ? all_ : ranks;
  place_ = static_cast<std::size_t>(std::ranges::find(ranks_, rank_) - ranks_.begin());
}

Slice DirectWire::part(Slice piece, std::size_t place) const {
  return part_of(piece, static_cast<int>(place), static_cast<int>(ranks_.size()));
}

Slice DirectWire::row(std::size_t turn, std::size_t number, std::size_t size) {
  return received_.slice().subspan((turn * (all_.size() - 1) + number) * part_, size);
}

// While the device adds up a piece, messages bring the next piece and send out the previous one.
template <class Scatter, class Combine, class Gather>
void DirectWire::in_pieces(Slice values, Scatter scatter, Combine combine, Gather gather) {
  const std::size_t length = part_ * ranks_.size(), count = (values.size() + length - 1) / length;
  const auto piece = [&](std::size_t k) {
    return values.subspan(k * length, std::min(length, values.size() - k * length));
  };
  const auto start = [&](Phase phase, std::size_t k, auto& fill) {
    Exchange& exchange = exchanges_[phase][k % 2];
    std::ranges::fill(exchange.outgoing, std::span<const std::byte>());
    std::ranges::fill(exchange.incoming, std::span<std::byte>());
    fill(piece(k), exchange, k % 2);
    const std::span outgoing(exchange.outgoing);
    const std::span incoming(exchange.incoming);
    messages_.start(number_of(phase, k), {ranks_, outgoing.first(ranks_.size()), incoming.first(ranks_.size())});
  };
  if (count > 0) start(kScatter, 0, scatter);
  for (std::size_t k = 0; k < count; ++k) {
    if (k + 1 < count) start(kScatter, k + 1, scatter);
    messages_.finish(number_of(kScatter, k));
    combine(piece(k), k % 2);
    if (k >= 2) messages_.finish(number_of(kGather, k));
    start(kGather, k, gather);
  }
  for (std::size_t k = count < 2 ? 0 : count - 2; k < count; ++k) messages_.finish(number_of(kGather, k));
}

void DirectWire::all_reduce_sum(Slice values, std::span<const int> ranks) {
  join(ranks);
  if (ranks_.size() == 1) return;
  in_pieces(
      values, [&](Slice piece, Exchange& exchange, std::size_t turn) { scatter(piece, exchange, turn); },
      [&](Slice piece, std::size_t turn) { sum(piece, turn); },
      [&](Slice piece, Exchange& exchange, std::size_t) { gather(piece, exchange, kNobody); });
}

void DirectWire::broadcast(Slice values, int root) {
  join({});
  in_pieces(
      values, [&](Slice piece, Exchange& exchange, std::size_t) { hand_out(piece, exchange, root); },
      [](Slice, std::size_t) {}, [&](Slice piece, Exchange& exchange, std::size_t) { gather(piece, exchange, root); });
}

// Sends each other rank its part of this rank's piece. Receives the other ranks' shares of this rank's part, one row
// behind the other.
void DirectWire::scatter(Slice piece, Exchange& exchange, std::size_t turn) {
  const std::size_t mine = part(piece, place_).size();
  std::size_t number = 0;
  for (std::size_t place = 0; place < ranks_.size(); ++place) {
    if (place == place_) continue;
    exchange.outgoing[place] = std::as_bytes(part(piece, place));
    exchange.incoming[place] = std::as_writable_bytes(row(turn, number++, mine));
  }
}

// Adds up in the order of places: ((x0 + x1) + x2) + …. So this rank's part is added at its place, not first.
void DirectWire::sum(Slice piece, std::size_t turn) {
  const Slice mine = part(piece, place_);
  if (mine.empty()) return;
  const auto theirs = [&](std::size_t number) { return row(turn, number, mine.size()); };
  for (std::size_t number = 1; number < place_; ++number) sums_->add(theirs(0), theirs(number));
  if (place_ > 0) sums_->add(mine, theirs(0));
  for (std::size_t number = place_; number + 1 < ranks_.size(); ++number) sums_->add(mine, theirs(number));
  sums_->wait();
}

// The root sends every rank its part.
void DirectWire::hand_out(Slice piece, Exchange& exchange, int root) {
  const auto of_root = static_cast<std::size_t>(root);
  if (place_ != of_root) {
    exchange.incoming[of_root] = std::as_writable_bytes(part(piece, place_));
    return;
  }
  for (std::size_t place = 0; place < ranks_.size(); ++place)
    if (place != place_) exchange.outgoing[place] = std::as_bytes(part(piece, place));
}

// Every rank sends its part to all others. The rank at place `root` receives none, because it has all parts.
void DirectWire::gather(Slice piece, Exchange& exchange, int root) {
  for (std::size_t place = 0; place < ranks_.size(); ++place) {
    if (place == place_) continue;
    if (static_cast<int>(place) != root) exchange.outgoing[place] = std::as_bytes(part(piece, place_));
    if (static_cast<int>(place_) != root) exchange.incoming[place] = std::as_writable_bytes(part(piece, place));
  }
}

}  // namespace eave
