// Views of arrays. A Slice is a range of float32 values in the memory of its replica's device. It owns nothing. If the
// device is not the CPU, do not dereference it: use Device to read and write.
// A TensorInfo says where one tensor lies in such an array.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace eave {

using Slice = std::span<float>;
using ConstSlice = std::span<const float>;

// One named parameter (or statistic) in the flat arena, dense and row-major in the order of `shape`. Convolution
// weights are [height, width, in_channels, out_channels]; dense weights are [in, out]. Every tensor begins at a
// multiple of 16 floats. The padding between tensors is always zero.
struct TensorInfo {
  std::string name;  // "conv1.weight"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // in floats
  std::int64_t size = 0;    // in floats, without padding
  bool is_output = false;   // the matrix that gives the model's outputs
  // The columns of each matrix, if several lie side by side in this tensor, such as those of queries, keys and values.
  // Empty if the tensor is one matrix.
  std::vector<std::int64_t> parts = {};
};

}  // namespace eave
