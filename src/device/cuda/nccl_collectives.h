// Sums between GPUs by NCCL.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/cuda/cuda_device.h"
#include "device/device_collectives.h"

namespace eave::cuda {

// The NCCL library that this process has loaded, such as "NCCL 2.28.9". Throws Error(kResource) if eave was not built
// for it.
std::string nccl_library();

// The PCI bus id of GPU `index`, such as "0000:3b:00.0".
std::string bus_id_of(int index);

// The device's thread calls this. The device must outlive the result. `before_each` is called before each operation,
// with the values that the operation will change.
std::unique_ptr<DeviceCollectives> make_nccl_collectives(CudaDevice& device,
                                                         std::function<void(ConstSlice)> before_each);

}  // namespace eave::cuda
