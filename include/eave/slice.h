// Views of arrays. A Slice is a range of float32 values in the memory of its
// replica's device. It owns nothing. If the device is not the CPU, do not dereference it: use Device to read and write.
#pragma once

#include <span>

namespace eave {

using Slice = std::span<float>;
using ConstSlice = std::span<const float>;

}  // namespace eave
