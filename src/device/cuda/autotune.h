// Finds the fastest of several ways to do the same, by timing them on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "device/cuda/cuda_handles.h"

namespace eave::cuda {

// Device memory for the time of a comparison, zeroed.
class TemporaryMemory {
 public:
  TemporaryMemory(std::int64_t bytes, cudaStream_t stream);
  // At `offset` bytes.
  void* at(std::int64_t offset) const { return static_cast<char*>(memory_.get()) + offset; }

 private:
  DeviceBytes memory_;
};

// The candidate, of `count`, whose `run` takes the least time: the median of several replays of a CUDA graph of it, as
// training replays it too. One that fails, or cannot be captured, is passed over; where all are, the first is returned.
// Blocks; not while the stream is being captured.
std::size_t find_fastest(cudaStream_t stream, std::size_t count, const std::function<void(std::size_t)>& run);

}  // namespace eave::cuda
