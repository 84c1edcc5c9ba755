// Numbers of a method that a checkpoint must keep.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eave/slice.h"

namespace eave {

// Integers and doubles, stored exactly in a slice of floats: each float holds 16 bits. The slice is the only storage,
// so writing it restores the numbers. All begin as 0.
class CheckpointedNumbers {
 public:
  explicit CheckpointedNumbers(std::size_t count) : floats_(count * kFloats) {}

  std::int64_t integer(std::size_t i) const { return static_cast<std::int64_t>(bits(i)); }
  double real(std::size_t i) const { return std::bit_cast<double>(bits(i)); }
  void set(std::size_t i, std::int64_t value) { set_bits(i, static_cast<std::uint64_t>(value)); }
  void set(std::size_t i, double value) { set_bits(i, std::bit_cast<std::uint64_t>(value)); }
  Slice slice() { return floats_; }

 private:
  static constexpr std::size_t kFloats = 4;

  std::uint64_t bits(std::size_t i) const {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < kFloats; ++k) {
      value |= static_cast<std::uint64_t>(static_cast<std::uint16_t>(floats_[kFloats * i + k])) << (16 * k);
    }
    return value;
  }

  void set_bits(std::size_t i, std::uint64_t value) {
    for (std::size_t k = 0; k < kFloats; ++k) {
      floats_[kFloats * i + k] = static_cast<float>(static_cast<std::uint16_t>(value >> (16 * k)));
    }
  }

  std::vector<float> floats_;
};

}  // namespace eave
