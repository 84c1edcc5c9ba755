// Passes over gradients that a program of its own has computed, for the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eave::cpu {

bool all_finite(const float* values, std::size_t count);

// Writes weight * from[i] into into[i]; `into` may be `from`. Returns whether all values of `from` are finite.
bool copy_weighted(float* into, const float* from, float weight, std::size_t count);

// A number that changes if one of the values changes its bits, but for accidents: the sum of the squares of the bits,
// modulo 2^64. A plain sum would not notice it if half of the values change their sign.
std::uint64_t fingerprint(const float* values, std::size_t count);

}  // namespace eave::cpu
