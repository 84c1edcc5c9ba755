// Values in a device's memory on a wire that reaches the host's.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "eave/device.h"
#include "eave/transport.h"
#include "transport/wire.h"

namespace eave {

// Carries out sums and broadcasts in pieces, through pinned host memory: while a piece is on the wire, the one before
// it is copied to the device and the one behind it comes from there. What lies in host memory already is cut into the
// same pieces, because other ranks may have the same values on a device. A sum is taken element by element, so cutting
// changes no bit of it.
//
// Requests of one call are staged as a whole: an owner may want to answer the last first.
//
// An MPI that takes addresses of the device's memory (CUDA-aware) needs it for requests alone, whose replies are made
// by the host: the rest is DirectWire's.
//
// Made by the device's thread, which alone calls size_for, grow and the destructor, when nothing is carried out. All
// else is called by the communication thread, after what was to be computed before.
class StagedWire {
 public:
  StagedWire(Wire& wire, Device& device);

  bool stages(ConstSlice values) const { return has_own_memory_ && device_.holds(values); }  // any thread
  std::size_t size() const { return pinned_.front().size(); }
  // That size() must have for this to be carried out.
  std::size_t size_for(ConstSlice values, std::span<const ServiceRequest> requests) const;
  // Waits for the device first. To give pinned memory back, a driver holds its lock until all kernels have ended; one
  // of NCCL's does not end while NCCL's own thread needs that lock, and the job freezes.
  void grow(std::size_t size);

  // As those of Wire; afterwards values on the device are visible to whatever it is asked for.
  void all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression);
  void broadcast(Slice values, int root);
  void request(std::span<const ServiceRequest> requests);

 private:
  static constexpr std::size_t kPieces = 3;  // one comes, one is on the wire, one goes

  template <class Carry>
  void in_pieces(Slice values, bool come, bool go, Carry carry);
  template <class Carry>
  void in_staged_pieces(Slice values, bool come, bool go, Carry carry);
  Slice piece(Slice values, std::size_t number) const;
  Slice pinned(std::size_t number, std::size_t size) { return pinned_[number % kPieces].slice().first(size); }

  Wire& wire_;
  Device& device_;
  const bool has_own_memory_;
  std::array<Buffer, kPieces> pinned_;  // the first may be longer than a piece
  std::unique_ptr<CopyQueue> copies_;
  std::vector<ServiceRequest> requests_;  // as they are on the wire
};

}  // namespace eave
