// The values that change from one pass to the next. Kernels read them in device memory, so a captured graph can be
// replayed after new values are copied there.
#pragma once

#include <cstdint>

namespace eave::cuda {

struct PassBlock {
  std::uint64_t seed = 0;  // seed of dropout, or of the images' crops and flips
  std::int64_t step = 0;
  float loss_factor = 0;
  // Samples of the batch. The arrays may have room for more samples: those have no loss, a gradient of 0, and black
  // images.
  std::int32_t samples = 0;
};

}  // namespace eave::cuda
