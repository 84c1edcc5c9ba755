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

void pack_filter(const FilterSize& size, const float* filter, float* packed);
void unpack_filter(const FilterSize& size, const float* packed, float* filter);

}  // namespace eave::cpu
