// Sums between GPUs by NCCL.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/cuda/cuda_device.h"
#include "device/device_collectives.h"

namespace eave::cuda {

// "NCCL 2.28.9": the library this process has loaded. Throws Error(kResource) if eave was not built for it.
std::string nccl_library();

// "0000:3b:00.0"
std::string bus_id_of(int index);

// The device's thread calls this; the device outlives the collectives. `before_each` is called before each operation,
// with its values.
std::unique_ptr<DeviceCollectives> make_nccl_collectives(CudaDevice& device,
                                                         std::function<void(ConstSlice)> before_each);

}  // namespace eave::cuda
