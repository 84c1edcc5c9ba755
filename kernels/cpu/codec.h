// Converts blocks of float32 values to fewer bits and back. Values are converted element by element or in integers, so
// equal inputs give equal bits on every x86-64. Ranges of one call hold `count` values and do not overlap. 16-bit
// ranges need an even address, no more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eave::cpu {

// The bits of the largest |value|. They order as the magnitudes do: infinity (0x7f800000) above all finite values, and
// NaN above infinity.
std::uint32_t largest_magnitude(const float* values, std::size_t count);

// bfloat16, the upper half of a float32, rounded to nearest even. Values beyond the largest become infinity. NaN stays
// NaN.
void write_bf16(std::uint16_t* into, const float* values, std::size_t count);
void read_bf16(float* into, const std::uint16_t* values, std::size_t count);

// write: factor · value as IEEE binary16, rounded to nearest even. read: factor · that. Values must be finite and
// |factor · value| < 2^15.
void write_fp16(std::uint16_t* into, const float* values, std::size_t count, float factor);
void read_fp16(float* into, const std::uint16_t* values, std::size_t count, float factor);

// write: factor · value as the nearest integer, ties to even. read: factor · that. Values must be finite and |factor ·
// value| < 127.5.
void write_int8(std::int8_t* into, const float* values, std::size_t count, float factor);
void read_int8(float* into, const std::int8_t* values, std::size_t count, float factor);

// Writes the indices of the `kept` values of largest magnitude, in ascending order. Among equal magnitudes the first
// ones are taken. NaN counts as the largest. Requires 0 < kept ≤ count ≤ 65536.
void find_largest(std::uint16_t* places, std::size_t kept, const float* values, std::size_t count);

}  // namespace eave::cpu
