// Views of numbers. A Slice is a stretch of float32 on the device of its replica; it owns nothing.
#pragma once

#include <span>

namespace eave {

using Slice = std::span<float>;
using ConstSlice = std::span<const float>;

}  // namespace eave
