#include "kernels/cpu/codec.h"

#include <bit>

#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

constexpr std::uint32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;

// 1.5 · 2^23. The lowest bits of x + kRounder are the integer nearest to x.
constexpr float kRounder = 12582912;

EAVE_MULTIVERSION std::uint32_t run_largest(const float* __restrict values, std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & kMagnitude;
    largest = largest < magnitude ? magnitude : largest;
  }
  return largest;
}

EAVE_MULTIVERSION void run_write_bf16(std::uint16_t* __restrict into, const float* __restrict values,
                                      std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const std::uint32_t quiet = (bits >> 16) | 0x40;  // rounding would carry a NaN into zero
    into[i] = static_cast<std::uint16_t>((bits & kMagnitude) > kInfinity ? quiet : rounded);
  }
}

EAVE_MULTIVERSION void run_read_bf16(float* __restrict into, const std::uint16_t* __restrict values,
                                     std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] = std::bit_cast<float>(static_cast<std::uint32_t>(values[i]) << 16);
}

EAVE_MULTIVERSION void run_write_fp16(std::uint16_t* __restrict into, const float* __restrict values, std::size_t count,
                                      float factor) {
  constexpr std::uint32_t kSmallestNormal = 0x38800000;  // 2^-14
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(factor * values[i]);
    const std::uint32_t magnitude = bits & kMagnitude, sign = (bits >> 16) & 0x8000;
    const std::uint32_t normal = (magnitude - (std::uint32_t{112} << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    // Below the smallest normal number, halves are multiples of 2^-24. The lowest bits of x + 1/2 count them.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
    into[i] = static_cast<std::uint16_t>((magnitude < kSmallestNormal ? small : normal) | sign);
  }
}

EAVE_MULTIVERSION void run_read_fp16(float* __restrict into, const std::uint16_t* __restrict values, std::size_t count,
                                     float factor) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t half = values[i], magnitude = half & 0x7fff;
    const float normal = std::bit_cast<float>((magnitude << 13) + (std::uint32_t{112} << 23));
    const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
    const auto value = std::bit_cast<std::uint32_t>(magnitude < 0x400 ? small : normal);
    into[i] = factor * std::bit_cast<float>(value | (half & 0x8000) << 16);
  }
}

EAVE_MULTIVERSION void run_write_int8(std::int8_t* __restrict into, const float* __restrict values, std::size_t count,
                                      float factor) {
  for (std::size_t i = 0; i < count; ++i) {
    const float rounded = factor * values[i] + kRounder;
    into[i] = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(rounded) & 0xff);
  }
}

EAVE_MULTIVERSION void run_read_int8(float* __restrict into, const std::int8_t* __restrict values, std::size_t count,
                                     float factor) {
  for (std::size_t i = 0; i < count; ++i) into[i] = factor * static_cast<float>(values[i]);
}

// Finds, bit by bit, the largest bound that at least `kept` magnitudes reach.
EAVE_MULTIVERSION std::uint32_t run_bound(const float* __restrict values, std::size_t count, std::size_t kept) {
  std::uint32_t bound = 0;
  for (int bit = 30; bit >= 0; --bit) {
    const std::uint32_t higher = bound | (std::uint32_t{1} << bit);
    std::uint32_t reached = 0;
    for (std::size_t i = 0; i < count; ++i)
      reached += (std::bit_cast<std::uint32_t>(values[i]) & kMagnitude) >= higher ? 1u : 0u;
    if (reached >= kept) bound = higher;
    if (reached == kept) break;
  }
  return bound;
}

}  // namespace

std::uint32_t largest_magnitude(const float* values, std::size_t count) { return run_largest(values, count); }

void write_bf16(std::uint16_t* into, const float* values, std::size_t count) { run_write_bf16(into, values, count); }
void read_bf16(float* into, const std::uint16_t* values, std::size_t count) { run_read_bf16(into, values, count); }

void write_fp16(std::uint16_t* into, const float* values, std::size_t count, float factor) {
  run_write_fp16(into, values, count, factor);
}
void read_fp16(float* into, const std::uint16_t* values, std::size_t count, float factor) {
  run_read_fp16(into, values, count, factor);
}

void write_int8(std::int8_t* into, const float* values, std::size_t count, float factor) {
  run_write_int8(into, values, count, factor);
}
void read_int8(float* into, const std::int8_t* values, std::size_t count, float factor) {
  run_read_int8(into, values, count, factor);
}

void find_largest(std::uint16_t* places, std::size_t kept, const float* values, std::size_t count) {
  const std::uint32_t bound = run_bound(values, count, kept);
  const auto magnitude = [values](std::size_t i) { return std::bit_cast<std::uint32_t>(values[i]) & kMagnitude; };
  std::size_t above = 0;
  for (std::size_t i = 0; i < count; ++i) above += magnitude(i) > bound ? 1 : 0;
  std::size_t equals = kept - above, at = 0;  // how many of the values equal to the bound are kept
  for (std::size_t i = 0; at < kept; ++i) {
    const bool is_kept = magnitude(i) > bound || (magnitude(i) == bound && equals > 0);
    if (!is_kept) continue;
    if (magnitude(i) == bound) --equals;
    places[at++] = static_cast<std::uint16_t>(i);
  }
}

}  // namespace eave::cpu
