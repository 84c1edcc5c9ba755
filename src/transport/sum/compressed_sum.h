// Sums whose values travel encoded, over any ByteExchanger: Transport::all_reduce_sum with a Compression.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "eave/slice.h"
#include "eave/transport.h"
#include "transport/codecs/codec.h"
#include "transport/core/wire.h"

namespace eave {

// A reduce-scatter, then an all-gather, of encoded blocks between all pairs of ranks; Compression has the formulas. A
// segment has as many blocks for each rank as fit into one message. Several segments are in flight, so that encoding
// overlaps messages. Its memory is reused from sum to sum.
class CompressedSum {
 public:
  CompressedSum(ByteExchanger& exchanger, int rank, int size);
  CompressedSum(const CompressedSum&) = delete;
  CompressedSum& operator=(const CompressedSum&) = delete;

  // Collective over `ranks` (empty: all ranks) and blocking, in the meaning of Transport::all_reduce_sum.
  void run(Slice values, std::span<const int> ranks, const Compression& compression);

 private:
  // Just below 64 KiB: up to there, Open MPI sends over TCP at once.
  static constexpr std::size_t kMessageBytes = std::size_t{60} << 10;
  static constexpr std::size_t kInFlightBytes = std::size_t{1} << 24;
  using Values = std::array<float, Codec::kBlock>;

  // One segment in flight. `parts`, by place: what this rank sends to each owner, and later the sum that the owner
  // sends back. `received`, by place: what the others send for this rank's blocks.
  struct Slot {
    std::vector<std::byte> parts, received;
    std::vector<std::size_t> bytes;  // of each part
    std::vector<std::span<const std::byte>> outgoing;
    std::vector<std::span<std::byte>> incoming;
  };
  struct Block {
    Slice values, residual;
    std::size_t owner;  // its place in the ranks
    std::size_t begin;  // offset in its owner's part, in bytes
  };

  void prepare(Slice values, std::span<const int> ranks, const Compression& compression);
  template <class Visit>
  void visit_blocks(std::size_t segment, Visit visit);
  void scatter(std::size_t segment);
  void combine(std::size_t segment);
  void gather(std::size_t segment);
  void add_up(const Slot& slot, const Block& block);

  std::size_t places() const { return ranks_.size(); }
  std::size_t number_of(std::size_t segment) const { return segment % (2 * lag_ + 1); }
  std::span<std::byte> part(Slot& slot, std::size_t place) const;
  const std::byte* received(const Slot& slot, std::size_t place) const {
    return slot.received.data() + place * part_bytes_;
  }

  ByteExchanger& exchanger_;
  const int rank_;
  std::vector<int> all_;
  std::vector<Slot> slots_;
  Values sum_, decoded_;
  // The sum in progress.
  Slice values_;
  std::span<const int> ranks_;
  Compression compression_;
  std::size_t place_ = 0;           // of this rank
  std::size_t segment_blocks_ = 0;  // per segment, of all ranks together
  std::size_t part_bytes_ = 0;      // longest part
  std::size_t lag_ = 1;             // how many segments a phase is behind the previous phase
};

}  // namespace eave
