// Carries a pass's inputs to the device and its loss back to the host.
#pragma once

#include <array>
#include <cstdint>

#include "device/cuda/cuda_device.h"
#include "eave/compute.h"
#include "kernels/cuda/layers.h"
#include "kernels/cuda/support/pass_block.h"

namespace eave::cuda {

// The addresses on the device stay the same until `reserve` has to enlarge them. The host may send the next pass while
// the device still works on the current one.
class PassMemory {
 public:
  explicit PassMemory(CudaDevice& device);

  // Makes room for batches of `samples` samples and `labels` labels, with `inputs` floats of input sent by the host.
  // Returns true if addresses have changed.
  bool reserve(std::int64_t samples, std::int64_t labels, std::int64_t inputs);
  void send(const Batch& batch, const PassBlock& block);

  const PassBlock* block() const { return reinterpret_cast<const PassBlock*>(on_device(0)); }
  const std::int64_t* indices() const { return reinterpret_cast<const std::int64_t*>(on_device(sizeof(PassBlock))); }
  const std::int32_t* labels() const { return reinterpret_cast<const std::int32_t*>(on_device(labels_at())); }
  ConstSlice inputs() const { return inputs_.slice(); }
  LossTotals* totals() const { return static_cast<LossTotals*>(totals_.get()); }

  // Enqueues a copy of totals() to the host. Returns its ticket, for loss().
  std::int64_t fetch_totals();
  LossSum loss(std::int64_t ticket) const;

 private:
  static constexpr std::size_t kSlots = kKeptLosses;
  // Pinned memory of one pass. It may be reused once `sent` has been reached.
  struct Slot {
    HostBytes block;
    Buffer inputs;
    Event sent = make_event();
    HostBytes totals = host_bytes(sizeof(LossTotals));
    Event arrived = make_event();
  };

  std::size_t labels_at() const { return sizeof(PassBlock) + samples_ * sizeof(std::int64_t); }
  std::size_t block_bytes() const { return labels_at() + labels_ * sizeof(std::int32_t); }
  const char* on_device(std::size_t offset) const { return static_cast<const char*>(block_.get()) + offset; }

  CudaDevice& device_;
  std::array<Slot, kSlots> slots_;
  std::size_t samples_ = 0, labels_ = 0;
  DeviceBytes block_;
  Buffer inputs_;
  DeviceBytes totals_;
  std::int64_t passes_sent_ = 0, ticket_ = 0;
};

}  // namespace eave::cuda
