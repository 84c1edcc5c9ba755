// GHASH: the hash that GMAC is made of (NIST SP 800-38D), for processors that multiply 256 bits without carries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace eave {

// OpenSSL 3.0 multiplies 128 bits at once; with 256 the same hash takes half the time. Its time does not depend on the
// bytes. tcp_mac.cpp uses OpenSSL's if the processor does not support this one.
class Ghash {
 public:
  using Block = std::array<std::byte, 16>;

  static bool is_supported();
  // `key`: the cipher of a block of zeros. The caller has asked is_supported().
  explicit Ghash(const Block& key);
  void begin();  // of the next message
  // Bytes that are authenticated and not encrypted. One behind the other, in pieces of any length.
  void add(std::span<const std::byte> bytes);
  Block end();

 private:
  static constexpr std::size_t kPowers = 16;  // blocks that are multiplied side by side

  void fold(std::span<const std::byte> bytes);  // whole blocks

  // The powers of the key, the highest first. For Karatsuba's product, the sum of both halves of each.
  std::array<Block, kPowers> powers_{}, sums_{};
  Block state_{}, partial_{};
  std::size_t filled_ = 0;  // bytes of partial_
  std::uint64_t length_ = 0;
};

}  // namespace eave
