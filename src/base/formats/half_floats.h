// Numbers of 16 bits as float32. Each of them has an equal float32.
#pragma once

#include <bit>
#include <cstdint>

namespace eave {

// bfloat16 is the upper half of a float32.
inline float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 bits of fraction.
inline float float_of_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, exponent = bits >> 10 & 31u, fraction = bits & 1023u;
  if (exponent == 0) {  // a multiple of 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t widened = exponent == 31 ? 255 : exponent + 127 - 15;
  return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
}

}  // namespace eave
