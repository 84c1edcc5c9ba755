// Converts filters of convolutions between two layouts: [taps, inputs, outputs] and [outputs, taps, inputs]. On the CPU
// oneDNN packs filters itself. This is the reference for devices whose library does not.
#pragma once

#include <cstdint>

namespace eave::cpu {

struct FilterSize {
  std::int64_t taps = 0;  // window height × width
  std::int64_t inputs = 0, outputs = 0;
  std::int64_t values() const { return taps * inputs * outputs; }
  std::int64_t at(std::int64_t tap, std::int64_t input, std::int64_t output) const {
    return (tap * inputs + input) * outputs + output;
  }
  std::int64_t packed_at(std::int64_t tap, std::int64_t input, std::int64_t output) const {
    return (output * taps + tap) * inputs + input;
  }
};

// Calls move(place in the filter, place in the packed filter) for each value.
template <class Move>
void for_each_filter_value(const FilterSize& size, const Move& move) {
  for (std::int64_t tap = 0; tap < size.taps; ++tap) {
    for (std::int64_t input = 0; input < size.inputs; ++input) {
      for (std::int64_t output = 0; output < size.outputs; ++output)
        move(size.at(tap, input, output), size.packed_at(tap, input, output));
    }
  }
}

// [taps, inputs, outputs] to [outputs, taps, inputs].
inline void pack_filter(const FilterSize& size, const float* filter, float* packed) {
  for_each_filter_value(size, [&](std::int64_t at, std::int64_t packed_at) { packed[packed_at] = filter[at]; });
}

// The reverse.
inline void unpack_filter(const FilterSize& size, const float* packed, float* filter) {
  for_each_filter_value(size, [&](std::int64_t at, std::int64_t packed_at) { filter[at] = packed[packed_at]; });
}

}  // namespace eave::cpu
