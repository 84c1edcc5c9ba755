// Sums and broadcasts of values in device memory, by messages that reach that memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "eave/device.h"
#include "transport/core/wire.h"

namespace eave {

// Needs no host memory, because the message library accepts device addresses (CUDA-aware MPI). It cuts and shares out
// the values as MessageWire does, and the device adds them in the same order, so the bits are the same. Messages
// between two ranks have up to 1 MiB. MessageWire's messages would be far too short for a copy from a device.
//
// The device's thread makes and destroys it, while no operation is in flight. The communication thread calls all else,
// after the device has computed the values.
class DirectWire {
 public:
  // The longest message, in values.
  static constexpr std::size_t kPart = std::size_t{256} << 10;

  // Allocates 2 · `part` values of device memory for each other rank.
  DirectWire(ByteExchanger& messages, Device& device, int rank, int size, std::size_t part = kPart);

  bool carries(ConstSlice values) const { return device_.holds(values); }  // any thread
  // As in Wire, for values in the memory of each rank's device.
  void all_reduce_sum(Slice values, std::span<const int> ranks);
  void broadcast(Slice values, int root);

 private:
  // The messages of one phase of a piece. Each phase has two of these, and pieces use them in turn.
  struct Exchange {
    std::vector<std::span<const std::byte>> outgoing;
    std::vector<std::span<std::byte>> incoming;
  };
  enum Phase { kScatter, kGather };

  template <class Scatter, class Combine, class Gather>
  void in_pieces(Slice values, Scatter scatter, Combine combine, Gather gather);
  void scatter(Slice piece, Exchange& exchange, std::size_t turn);
  void sum(Slice piece, std::size_t turn);
  void hand_out(Slice piece, Exchange& exchange, int root);
  void gather(Slice piece, Exchange& exchange, int root);
  void join(std::span<const int> ranks);
  Slice part(Slice piece, std::size_t place) const;
  Slice row(std::size_t turn, std::size_t number, std::size_t size);
  static std::size_t number_of(Phase phase, std::size_t piece) { return 2 * phase + piece % 2; }

  ByteExchanger& messages_;
  Device& device_;
  const int rank_;
  const std::size_t part_;
  Buffer received_;  // for each turn, a row of part_ values for each other rank
  std::unique_ptr<CopyQueue> sums_;
  std::array<std::array<Exchange, 2>, 2> exchanges_;  // [phase][turn]
  std::vector<int> all_;
  std::span<const int> ranks_;  // of the operation
  std::size_t place_ = 0;       // the index of this rank in ranks_
};

}  // namespace eave
