// Values in a device's memory on messages that reach it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "eave/device.h"
#include "transport/wire.h"

namespace eave {

// Sums and broadcasts without the host's memory, where the library of the messages takes addresses of the device's
// (CUDA-aware MPI). Cut, dealt out and added up as MpiWire does, by the device: the same bits. In messages of up to 1
// MiB from each rank to each other, for one of MpiWire's length is far too short for a copy from a device.
//
// Made by the device's thread, which alone calls the destructor, when nothing is carried out. All else is called by the
// communication thread, after what was to be computed before.
class DirectWire {
 public:
  // A message's longest, in values.
  static constexpr std::size_t kPart = std::size_t{256} << 10;

  // Takes memory of the device: twice `part` values for each other rank.
  DirectWire(ByteExchanger& messages, Device& device, int rank, int size, std::size_t part = kPart);

  bool carries(ConstSlice values) const { return device_.holds(values); }  // any thread
  // As those of Wire, of values that lie in the memory of each rank's device.
  void all_reduce_sum(Slice values, std::span<const int> ranks);
  void broadcast(Slice values, int root);

 private:
  // An exchange under way, and what it lends. Pieces use the two of each phase by turns.
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
  std::size_t place_ = 0;       // of this rank in them
};

}  // namespace eave
