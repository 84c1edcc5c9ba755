#include "kernels/cpu/filter.h"

namespace eave::cpu {
namespace {

template <class Move>
void for_each_value(const FilterSize& size, const Move& move) {
  for (std::int64_t tap = 0; tap < size.taps; ++tap) {
    for (std::int64_t input = 0; input < size.inputs; ++input) {
      for (std::int64_t output = 0; output < size.outputs; ++output)
        move(size.at(tap, input, output), size.packed_at(tap, input, output));
    }
  }
}

}  // namespace

void pack_filter(const FilterSize& size, const float* filter, float* packed) {
  for_each_value(size, [&](std::int64_t at, std::int64_t packed_at) { packed[packed_at] = filter[at]; });
}

void unpack_filter(const FilterSize& size, const float* packed, float* filter) {
  for_each_value(size, [&](std::int64_t at, std::int64_t packed_at) { filter[at] = packed[packed_at]; });
}

}  // namespace eave::cpu
