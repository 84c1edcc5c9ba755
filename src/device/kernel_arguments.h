// Converts the arguments of operations to the types that the kernels of every device take.
#pragma once

#include <cmath>
#include <vector>

#include "device/operations.h"
#include "kernels/cpu/layers.h"

namespace eave {

// The numbers of type T that a slice holds. nullptr if the slice is empty.
template <class T>
T* array(Slice values) {
  return values.empty() ? nullptr : reinterpret_cast<T*>(values.data());
}
template <class T>
const T* array(ConstSlice values) {
  return values.empty() ? nullptr : reinterpret_cast<const T*>(values.data());
}

inline cpu::PoolGeometry geometry(const PoolShape& s) {
  const ImageShape out = s.output();
  return {s.samples, s.input.height,  s.input.width,  s.input.channels, out.height,
          out.width, s.window.height, s.window.width, s.window.stride,  s.window.pad};
}

// The floats in which a max-pool saves the byte of each output's winner.
inline std::int64_t pool_winners_size(const PoolShape& shape) {
  return (shape.samples * shape.output().size() + 3) / 4;
}

inline cpu::ShortcutGeometry geometry(const ShortcutShape& s) {
  return {s.samples,       s.input.height, s.input.width,     s.input.channels,
          s.output.height, s.output.width, s.output.channels, s.stride};
}

inline cpu::ResponseNorm geometry(const LocalResponseShape& s) {
  return {s.rows, s.channels, s.radius, s.alpha, s.beta, s.bias};
}

// For each position and pair, the cosines of the angles by which rotary positions turn, then the sines.
inline std::vector<float> rotary_turns(const RotaryShape& shape) {
  const std::int64_t half = shape.of.width / 2, count = shape.of.positions * half;
  std::vector<float> turns(static_cast<std::size_t>(2 * count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double angle = static_cast<double>(i / half) * shape.angles.of_pair(i % half, shape.of.width);
    turns[static_cast<std::size_t>(i)] = static_cast<float>(std::cos(angle));
    turns[static_cast<std::size_t>(count + i)] = static_cast<float>(std::sin(angle));
  }
  return turns;
}

}  // namespace eave
