// What changes from one pass to the next. It lies in device memory and kernels read it there, so that a captured graph
// can be replayed after a copy into it.
#pragma once

#include <cstdint>

namespace eave::cuda {

struct PassBlock {
  std::uint64_t seed = 0;  // of dropout and of the images' changes
  std::int64_t step = 0;
  float loss_factor = 0;
  // Samples of the batch; a batch may have been given more places. Those have no loss, a gradient of 0, and black
  // images.
  std::int32_t samples = 0;
};

}  // namespace eave::cuda
