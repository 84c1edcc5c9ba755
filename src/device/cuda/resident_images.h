// A dataset's images in device memory.
#pragma once

#include <functional>
#include <memory>

#include "device/cuda/cuda_device.h"
#include "eave/compute.h"
#include "kernels/cuda/images.h"

namespace eave::cuda {

struct ResidentImages final : public DeviceImages {
  Images placing;  // samples is 0; each pass sets it
  std::uint64_t seed = 0;
  DeviceBytes bytes;
  Buffer tables;  // 256 floats per channel: the value of each byte
  std::int64_t values() const { return std::int64_t{1} * placing.crop_height * placing.crop_width * placing.channels; }
};

// Copies `count` images to the device. `read` writes the bytes of one image, by its index. Returns nullptr if the
// images would take more than half of the free memory. Blocks.
std::unique_ptr<ResidentImages> load_resident_images(
    CudaDevice& device, std::int64_t count, const ImagePlacing& placing,
    const std::function<void(std::int64_t, std::span<std::uint8_t>)>& read);

}  // namespace eave::cuda
