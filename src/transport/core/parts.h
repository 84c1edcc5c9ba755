// How ranks share out a slice.
#pragma once

#include <algorithm>
#include <cstddef>

#include "eave/slice.h"

namespace eave {

// Part `number` of `parts` consecutive parts. The first `slice.size() % parts` parts are one value longer.
inline Slice part_of(Slice slice, int number, int parts) {
  const auto k = static_cast<std::size_t>(number), p = static_cast<std::size_t>(parts);
  const std::size_t share = slice.size() / p, rest = slice.size() % p;
  return slice.subspan(k * share + std::min(k, rest), share + (k < rest ? 1 : 0));
}

}  // namespace eave
