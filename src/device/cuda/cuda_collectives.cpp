// The part of CudaDevice that is implemented by NCCL.
#include "device/cuda/cuda_device.h"
#include "device/cuda/nccl_collectives.h"

namespace eave::cuda {

std::string CudaDevice::bus_id() const { return bus_id_of(index_); }
std::string CudaDevice::collective_library() const { return nccl_library(); }

std::unique_ptr<DeviceCollectives> CudaDevice::make_collectives() {
  return make_nccl_collectives(*this, [this](ConstSlice values) { change(values); });
}

}  // namespace eave::cuda
