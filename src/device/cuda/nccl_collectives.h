// Sums between GPUs by NCCL.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>

#include "device/device_collectives.h"

namespace eave::cuda {

// "NCCL 2.28.9": the library this process has loaded.
std::string nccl_library();

// "0000:3b:00.0"
std::string bus_id_of(int index);

// For GPU `index` and the stream of its Device, whose thread calls this; the Device outlives them. `before_each` is
// called before each operation, with its values.
std::unique_ptr<DeviceCollectives> make_nccl_collectives(int index, cudaStream_t stream,
                                                         std::function<void(ConstSlice)> before_each);

}  // namespace eave::cuda
