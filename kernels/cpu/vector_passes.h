// Passes over vectors that copy them, or find one number, for the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eave::cpu {

bool all_finite(const float* values, std::size_t count);

struct CopiedValues {
  std::int32_t largest = 0;       // magnitude_of (finite.h) of the largest value written; kInfinite or more: not finite
  std::uint64_t fingerprint = 0;  // of the values read
};

// Writes weight * from[i] into into[i]; `into` may be `from`.
CopiedValues copy_weighted(float* into, const float* from, float weight, std::size_t count);

// A number that changes if one of the values changes its bits, but for accidents: the sum of the squares of the bits,
// modulo 2^64. A plain sum would not notice it if half of the values change their sign. The fingerprint of a vector is
// the sum of the fingerprints of its parts.
std::uint64_t fingerprint(const float* values, std::size_t count);

// Sums in double, in an order that does not depend on the instruction set.
double sum_of_squares(const float* values, std::size_t count);
double sum_of_squared_differences(const float* a, const float* b, std::size_t count);

}  // namespace eave::cpu
