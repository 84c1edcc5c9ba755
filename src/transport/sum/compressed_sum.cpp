#include "transport/sum/compressed_sum.h"

#include <algorithm>
#include <cmath>

#include "transport/core/transport_base.h"

namespace eave {
namespace {

void add(Slice into, ConstSlice values) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += values[i];
}

// Writes what encoding dropped of each value. If the sent value is not finite, receivers cannot use it. Then the whole
// value is left over. If the value itself is NaN, the rest stays as it was, and if it is infinite, nothing is left.
void write_rest(Slice rest, ConstSlice whole, ConstSlice sent) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const float old = std::isnan(whole[i]) ? rest[i] : 0, kept = std::isfinite(whole[i]) ? whole[i] : old;
    const float left = whole[i] - sent[i];
    rest[i] = std::isfinite(left) ? left : kept;
  }
}

}  // namespace

CompressedSum::CompressedSum(ByteExchanger& exchanger, int rank, int size)
    : exchanger_(exchanger), rank_(rank), all_(all_ranks(size)) {}

// Each segment passes through three phases. Other segments have their turns between two phases of one segment.
void CompressedSum::run(Slice values, std::span<const int> ranks, const Compression& compression) {
  prepare(values, ranks, compression);
  if (places() == 1) return;
  const std::size_t length = segment_blocks_ * Codec::kBlock, lag = lag_;
  const std::size_t segments = (values.size() + length - 1) / length;
  for (std::size_t turn = 0; turn < segments + 2 * lag; ++turn) {
    if (turn >= 2 * lag) gather(turn - 2 * lag);
    if (turn < segments) scatter(turn);
    if (turn >= lag && turn - lag < segments) combine(turn - lag);
  }
}

void CompressedSum::prepare(Slice values, std::span<const int> ranks, const Compression& compression) {
  values_ = values;
  ranks_ = ranks.empty() ? std::span<const int>(all_) : ranks;
  compression_ = compression;
  place_ = static_cast<std::size_t>(std::ranges::lower_bound(ranks_, rank_) - ranks_.begin());
  const std::size_t block_bytes = compression.codec->encoded_bytes(Codec::kBlock);
  const std::size_t blocks = std::max<std::size_t>(kMessageBytes / block_bytes, 1);
  segment_blocks_ = blocks * places();
  part_bytes_ = blocks * block_bytes;
  lag_ = std::clamp<std::size_t>(kInFlightBytes / (4 * part_bytes_ * places()), 1, 8);
  slots_.resize(std::max(slots_.size(), 2 * lag_ + 1));
}

std::span<std::byte> CompressedSum::part(Slot& slot, std::size_t place) const {
  return std::span(slot.parts).subspan(place * part_bytes_, slot.bytes[place]);
}

template <class Visit>
void CompressedSum::visit_blocks(std::size_t segment, Visit visit) {
  const std::size_t block_bytes = compression_.codec->encoded_bytes(Codec::kBlock);
  for (std::size_t k = 0; k < segment_blocks_; ++k) {
    const std::size_t number = segment * segment_blocks_ + k, at = number * Codec::kBlock;
    if (at >= values_.size()) return;
    const std::size_t count = std::min(Codec::kBlock, values_.size() - at);
    visit(Block{values_.subspan(at, count), compression_.residual.subspan(at, count),
                (compression_.first_block + number) % places(), k / places() * block_bytes});
  }
}

void CompressedSum::scatter(std::size_t segment) {
  const Codec& codec = *compression_.codec;
  Slot& slot = slots_[number_of(segment)];
  slot.parts.resize(std::max(slot.parts.size(), places() * part_bytes_));
  slot.received.resize(slot.parts.size());
  slot.bytes.assign(places(), 0);
  visit_blocks(segment, [&](const Block& block) {
    slot.bytes[block.owner] += codec.encoded_bytes(block.values.size());
    add(block.values, block.residual);
    if (block.owner == place_) return;
    std::byte* const encoded = slot.parts.data() + block.owner * part_bytes_ + block.begin;
    const Slice decoded = Slice(decoded_).first(block.values.size());
    codec.encode(block.values, encoded);
    codec.decode(decoded, encoded);
    write_rest(block.residual, block.values, decoded);
  });
  slot.outgoing.resize(places());
  slot.incoming.resize(places());
  for (std::size_t place = 0; place < places(); ++place) {
    slot.outgoing[place] = part(slot, place);
    slot.incoming[place] = std::span(slot.received).subspan(place * part_bytes_, slot.bytes[place_]);
  }
  exchanger_.start(number_of(segment), {ranks_, slot.outgoing, slot.incoming});
}

void CompressedSum::combine(std::size_t segment) {
  const Codec& codec = *compression_.codec;
  Slot& slot = slots_[number_of(segment)];
  exchanger_.finish(number_of(segment));
  visit_blocks(segment, [&](const Block& block) {
    if (block.owner != place_) return;
    add_up(slot, block);
    std::byte* const encoded = slot.parts.data() + place_ * part_bytes_ + block.begin;
    const ConstSlice sum = Slice(sum_).first(block.values.size());
    codec.encode(sum, encoded);
    codec.decode(block.values, encoded);
    write_rest(block.residual, sum, block.values);
  });
  for (std::size_t place = 0; place < places(); ++place) {
    slot.outgoing[place] = part(slot, place_);
    slot.incoming[place] = part(slot, place);
  }
  exchanger_.start(number_of(segment), {ranks_, slot.outgoing, slot.incoming});
}

// In rank order: ((v0 + v1) + v2) + …
void CompressedSum::add_up(const Slot& slot, const Block& block) {
  const std::size_t count = block.values.size();
  const Slice sum = Slice(sum_).first(count), decoded = Slice(decoded_).first(count);
  for (std::size_t place = 0; place < places(); ++place) {
    ConstSlice mine_or_theirs = block.values;
    if (place != place_) {
      compression_.codec->decode(decoded, received(slot, place) + block.begin);
      mine_or_theirs = decoded;
    }
    if (place == 0) {
      std::ranges::copy(mine_or_theirs, sum.begin());
    } else {
      add(sum, mine_or_theirs);
    }
  }
}

void CompressedSum::gather(std::size_t segment) {
  Slot& slot = slots_[number_of(segment)];
  exchanger_.finish(number_of(segment));
  visit_blocks(segment, [&](const Block& block) {
    if (block.owner == place_) return;
    compression_.codec->decode(block.values, slot.parts.data() + block.owner * part_bytes_ + block.begin);
  });
}

}  // namespace eave
