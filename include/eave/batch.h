// What one rank trains on in one step.
#pragma once

#include <cstdint>
#include <span>

#include "eave/slice.h"

namespace eave {

// Height × width × channels of one sample, stored NHWC (channels last).
struct ImageShape {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::int64_t size() const { return std::int64_t{1} * height * width * channels; }
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

class DeviceImages;  // eave/compute.h

// A view; whoever made it keeps it alive. `samples` may be 0: the rank has none left in this step and still takes part.
struct Batch {
  std::int64_t samples = 0;
  std::int64_t step = 0;                  // counted from 0 over the whole run, the same on all ranks
  ConstSlice inputs;                      // samples × height × width × channels, normalised, in the host's memory
  std::span<const std::int32_t> labels;   // samples, each in [0, classes)
  std::span<const std::int64_t> indices;  // samples: index in the dataset, the counter of all per-sample randomness
  // Instead of inputs: where the device itself finds the images by their indices, and changes them.
  const DeviceImages* images = nullptr;
};

}  // namespace eave
