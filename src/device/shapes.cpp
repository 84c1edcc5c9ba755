// Sizes that follow from the shapes of layers.
#include "eave/compute.h"

namespace eave {

ImageShape ConvolutionShape::output() const {
  const ImageShape full = convolved();
  return pool == 0 ? full : ImageShape{full.height / pool, full.width / pool, full.channels};
}

std::int64_t pool_winners_size(const PoolShape& shape) { return (shape.samples * shape.output().size() + 3) / 4; }

}  // namespace eave
