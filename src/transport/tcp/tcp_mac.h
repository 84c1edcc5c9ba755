// Keys and message authentication codes of the transport `tcp`, by OpenSSL's libcrypto.
//
// Protected: nobody without the job's secret can join, change, add, drop, repeat or reorder a message without being
// noticed; the connection then ends. Not protected: secrecy. Values travel in the clear, as with MPI.
//
// Each connection has two keys, one per direction, made from the secret and from random numbers of both sides. The code
// of a message is GMAC: AES-128-GCM without a text to encrypt, whose nonce is the number of the message. It is as fast
// as memory on processors with carry-less multiplication; HMAC-SHA256 is three times slower or more. Ghash computes the
// same code twice as fast on processors that it supports: ranks with and without it understand each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "transport/tcp/tcp_ghash.h"

namespace eave {

using Secret = std::array<std::byte, 32>;
using MacKey = std::array<std::byte, 16>;
using MacTag = std::array<std::byte, 16>;

Secret random_secret();
// HMAC-SHA256 of the parts, one behind the other.
Secret hmac(const Secret& key, std::initializer_list<std::span<const std::byte>> parts);
// A secret from words of any length.
Secret secret_of(std::string_view words);
inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Compares in a time that does not depend on the bytes. Both have the same length.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b);

// The codes of the messages of one direction of a connection, in their order.
class MessageMac {
 public:
  // The codes are the same with and without Ghash.
  explicit MessageMac(const MacKey& key, bool uses_ghash = Ghash::is_supported());
  void begin();  // of the next message
  void add(std::span<const std::byte> bytes);
  MacTag end();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  MacTag encrypt(const MacTag& block);

  std::unique_ptr<void, Free> context_;  // of GCM, or, with hash_, of single blocks
  std::optional<Ghash> hash_;
  std::uint64_t number_ = 0;
};

}  // namespace eave
