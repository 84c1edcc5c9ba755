// Sums, broadcasts and requests of values in device memory, over a wire that reaches only host memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "eave/device.h"
#include "eave/transport.h"
#include "transport/core/wire.h"

namespace eave {

// Carries out sums and broadcasts in pieces, through pinned host memory. While one piece is on the wire, the previous
// piece is copied to the device and the next one is copied from there. Values that already lie in host memory are cut
// into the same pieces, because other ranks may have these values on a device. A sum works element by element, so
// cutting does not change its bits.
//
// All requests of one call are staged before the first is sent, because an owner may answer the last one first.
//
// With a CUDA-aware MPI, DirectWire carries out sums and broadcasts. Requests still come here, because the host makes
// their replies.
//
// The device's thread makes and destroys it and calls size_for and grow, while no operation is in flight. The
// communication thread calls all else, after the device has computed the values.
class StagedWire {
 public:
  StagedWire(Wire& wire, Device& device);

  bool stages(ConstSlice values) const { return has_own_memory_ && device_.holds(values); }  // any thread
  std::size_t size() const { return pinned_.front().size(); }
  // The size() that this operation needs.
  std::size_t size_for(ConstSlice values, std::span<const ServiceRequest> requests) const;
  // Waits for the device, then allocates pinned memory. Freeing pinned memory makes the driver hold a lock until all
  // kernels have ended. An NCCL kernel does not end while NCCL's own thread waits for that lock, so the job would
  // freeze.
  void grow(std::size_t size);

  // As in Wire. Work that the device gets afterwards sees the resulting values.
  void all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression);
  void broadcast(Slice values, int root);
  void request(std::span<const ServiceRequest> requests);

 private:
  static constexpr std::size_t kPieces = 3;  // one is read from the device, one is on the wire, one is written back

  template <class Carry>
  void in_pieces(Slice values, bool come, bool go, Carry carry);
  template <class Carry>
  void in_staged_pieces(Slice values, bool come, bool go, Carry carry);
  Slice piece(Slice values, std::size_t number) const;
  Slice pinned(std::size_t number, std::size_t size) { return pinned_[number % kPieces].slice().first(size); }

  Wire& wire_;
  Device& device_;
  const bool has_own_memory_;
  std::array<Buffer, kPieces> pinned_;  // grow() makes the first longer than a piece
  std::unique_ptr<CopyQueue> copies_;
  std::vector<ServiceRequest> requests_;  // as sent: their values lie in pinned memory
};

}  // namespace eave
