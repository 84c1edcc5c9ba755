// A batch: the samples that one rank uses in one step.
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

// A label that counts for nothing: it adds no loss and no gradient, and no score counts it.
inline constexpr std::int32_t kNoLabel = -1;

// A view of a batch, whose memory belongs to its maker. `samples` may be 0: the rank has no samples left in this step
// but still takes part.
//
// An image has one label. A window of T tokens is a sample of T × 1 × 1 inputs, the numbers of its tokens, and has T
// labels: after each token the next one.
struct Batch {
  std::int64_t samples = 0;
  std::int64_t step = 0;                  // counted from 0 over the whole run, the same on all ranks
  ConstSlice inputs;                      // samples × height × width × channels, normalised, in host memory
  std::span<const std::int32_t> labels;   // samples × targets, each in [0, classes) or kNoLabel
  std::span<const std::int64_t> indices;  // one dataset index per sample; all per-sample randomness is keyed by it
  // If not nullptr, `inputs` is empty: the device reads the images by `indices`, and crops and normalises them itself.
  const DeviceImages* images = nullptr;
  std::int64_t targets = 1;  // labels per sample
};

}  // namespace eave
