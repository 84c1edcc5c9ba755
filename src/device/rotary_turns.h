// The angles of rotary positions, for every device.
#pragma once

#include <cmath>
#include <vector>

#include "device/operations.h"

namespace eave {

// positions × width / 2 cosines, then as many sines, computed in double.
inline std::vector<float> rotary_turns(const RotaryShape& shape) {
  const std::int64_t half = shape.of.width / 2, count = shape.of.positions * half;
  std::vector<float> turns(static_cast<std::size_t>(2 * count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double exponent = -2.0 * static_cast<double>(i % half) / static_cast<double>(shape.of.width);
    const double angle = static_cast<double>(i / half) * std::pow(double{shape.base}, exponent);
    turns[static_cast<std::size_t>(i)] = static_cast<float>(std::cos(angle));
    turns[static_cast<std::size_t>(count + i)] = static_cast<float>(std::sin(angle));
  }
  return turns;
}

}  // namespace eave
