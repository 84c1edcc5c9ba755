// Float32 to fewer bits and back, a block of values at a time. Element by element or in integers: equal inputs give
// equal bits on every x86-64. Ranges of one call are `count` long and do not overlap; 16-bit ones may lie anywhere
// even.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eave::cpu {

// The bits of the largest |value|: they order as the magnitudes do, with infinity and then NaN (> 0x7f800000) on top.
std::uint32_t largest_magnitude(const float* values, std::size_t count);

// The upper half of a float32, to nearest even. Beyond the largest: infinity. NaN stays NaN.
void write_bf16(std::uint16_t* into, const float* values, std::size_t count);
void read_bf16(float* into, const std::uint16_t* values, std::size_t count);

// factor · value as IEEE binary16, to nearest even, and factor · that. Finite; |factor · value| < 2^15.
void write_fp16(std::uint16_t* into, const float* values, std::size_t count, float factor);
void read_fp16(float* into, const std::uint16_t* values, std::size_t count, float factor);

// factor · value as the nearest integer (even), and factor · that. Finite; |factor · value| < 127.5.
void write_int8(std::int8_t* into, const float* values, std::size_t count, float factor);
void read_int8(float* into, const std::int8_t* values, std::size_t count, float factor);

// The places of the `kept` values of largest magnitude, ascending; among equals the first. NaN is the largest.
// 0 < kept ≤ count ≤ 65536.
void find_largest(std::uint16_t* places, std::size_t kept, const float* values, std::size_t count);

}  // namespace eave::cpu
