// The name, the shape and the place of one tensor in a flat arena.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace eave {

// One named parameter (or statistic) in the flat arena, dense and row-major in the order of `shape`. Convolution
// weights are [height, width, in_channels, out_channels]; dense weights are [in, out]. Every tensor begins at a
// multiple of 16 floats. The padding between tensors is always zero.
struct TensorInfo {
  std::string name;  // "conv1.weight"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // in floats
  std::int64_t size = 0;    // in floats, without padding
};

}  // namespace eave
