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

// Writes weight * from[i] into into[i]; `into` may be `from`. `first`: as for fingerprint().
CopiedValues copy_weighted(float* into, const float* from, float weight, std::size_t count, std::size_t first = 0);

// A number that changes if values change their bits or their places, but for accidents: the sum of b (b xor i) modulo
// 2^64 over the bits b of each value and its place i. The fingerprint of a vector is the sum of the fingerprints of its
// parts, if `first` is the place at which each part begins.
std::uint64_t fingerprint(const float* values, std::size_t count, std::size_t first = 0);

// Sums in double, in an order that does not depend on the instruction set.
double sum_of_squares(const float* values, std::size_t count);
double sum_of_squared_differences(const float* a, const float* b, std::size_t count);

}  // namespace eave::cpu
