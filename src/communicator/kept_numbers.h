// Numbers of a method's own that a checkpoint must carry.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "eave/slice.h"

namespace eave {

// Whole numbers and reals, exact, inside a slice of floats: 16 bits of each in a float of its own. The slice is all
// there is of them, so writing it restores them. They begin as 0.
class KeptNumbers {
 public:
  explicit KeptNumbers(std::size_t count) : floats_(count * kFloats) {}

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
