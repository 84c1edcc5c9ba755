#include "device/cuda/passes/pass_memory.h"

#include <algorithm>
#include <cstring>

#include "eave/check.h"

namespace eave::cuda {

PassMemory::PassMemory(CudaDevice& device) : device_(device), totals_(device_bytes(sizeof(LossTotals))) {}

bool PassMemory::reserve(std::int64_t samples, std::int64_t labels, std::int64_t inputs) {
  const auto more_samples = static_cast<std::size_t>(samples), more_labels = static_cast<std::size_t>(labels),
             more_inputs = static_cast<std::size_t>(inputs);
  if (more_samples <= samples_ && more_labels <= labels_ && more_inputs <= inputs_.size()) return false;
  device_.finish_all();
  samples_ = std::max(samples_, more_samples);
  labels_ = std::max(labels_, more_labels);
  block_ = device_bytes(block_bytes());
  for (Slot& slot : slots_) slot.block = host_bytes(block_bytes());
  if (more_inputs > inputs_.size()) {
    // Free the old buffer first. Allocation clears the new one in the queue, and that must not be under way during a
    // free.
    inputs_ = {};
    inputs_ = device_.allocate(more_inputs);
    for (Slot& slot : slots_) slot.inputs = device_.allocate_for_host(more_inputs);
  }
  return true;
}

void PassMemory::send(const Batch& batch, const PassBlock& block) {
  const auto samples = static_cast<std::size_t>(batch.samples);
  const std::size_t labels = samples * static_cast<std::size_t>(batch.targets);
  EAVE_CHECK(samples <= samples_ && labels <= labels_ && batch.inputs.size() <= inputs_.size(), "room was reserved");
  Slot& slot = slots_[static_cast<std::size_t>(passes_sent_++) % kSlots];
  await(slot.sent.get());
  auto* bytes = static_cast<char*>(slot.block.get());
  std::memcpy(bytes, &block, sizeof block);
  std::memcpy(bytes + sizeof block, batch.indices.data(), samples * sizeof(std::int64_t));
  std::memcpy(bytes + labels_at(), batch.labels.data(), labels * sizeof(std::int32_t));
  EAVE_CUDA(cudaMemcpyAsync(block_.get(), bytes, block_bytes(), cudaMemcpyHostToDevice, device_.stream()));
  if (!batch.inputs.empty()) {
    std::ranges::copy(batch.inputs, slot.inputs.data());
    EAVE_CUDA(cudaMemcpyAsync(inputs_.data(), slot.inputs.data(), batch.inputs.size_bytes(), cudaMemcpyHostToDevice,
                              device_.stream()));
  }
  EAVE_CUDA(cudaEventRecord(slot.sent.get(), device_.stream()));
}

std::int64_t PassMemory::fetch_totals() {
  Slot& slot = slots_[static_cast<std::size_t>(++ticket_) % kSlots];
  EAVE_CUDA(
      cudaMemcpyAsync(slot.totals.get(), totals_.get(), sizeof(LossTotals), cudaMemcpyDeviceToHost, device_.stream()));
  EAVE_CUDA(cudaEventRecord(slot.arrived.get(), device_.stream()));
  return ticket_;
}

LossSum PassMemory::loss(std::int64_t ticket) const {
  EAVE_CHECK(ticket <= ticket_ && ticket > ticket_ - static_cast<std::int64_t>(kSlots),
             "the loss of one of the last passes");
  const Slot& slot = slots_[static_cast<std::size_t>(ticket) % kSlots];
  await(slot.arrived.get());
  const auto* totals = static_cast<const LossTotals*>(slot.totals.get());
  return {totals->loss, totals->correct};
}

}  // namespace eave::cuda
