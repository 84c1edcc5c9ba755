// Converts the shapes of Compute to the geometry types that the kernels of every device take.
#pragma once

#include "eave/compute.h"
#include "kernels/cpu/layers.h"

namespace eave {

inline cpu::PoolGeometry geometry(const PoolShape& s) {
  const ImageShape out = s.output();
  return {s.samples, s.input.height,  s.input.width,  s.input.channels, out.height,
          out.width, s.window.height, s.window.width, s.window.stride,  s.window.pad};
}

inline cpu::ShortcutGeometry geometry(const ShortcutShape& s) {
  return {s.samples,       s.input.height, s.input.width,     s.input.channels,
          s.output.height, s.output.width, s.output.channels, s.stride};
}

inline cpu::ResponseNorm geometry(const LocalResponseShape& s) {
  return {s.rows, s.channels, s.radius, s.alpha, s.beta, s.bias};
}

}  // namespace eave
