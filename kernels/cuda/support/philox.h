// The random generator of eave/random.h on the device: the same counters give the same words.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "eave/random.h"

namespace eave::cuda {

struct Words {
  std::uint32_t at[4];
};

__device__ inline Words philox(Words counter, std::uint64_t key) {
  auto key_a = static_cast<std::uint32_t>(key);
  auto key_b = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter.at[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter.at[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.at[1] ^ key_a, static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.at[3] ^ key_b, static_cast<std::uint32_t>(a)}};
    key_a += 0x9E3779B9;
    key_b += 0xBB67AE85;
  }
  return counter;
}

// The key of the sequence for (seed, purpose, part).
__device__ inline std::uint64_t stream_of(std::uint64_t seed, Purpose purpose, std::uint32_t part) {
  const Words mixed = philox({{static_cast<std::uint32_t>(purpose), part, 0, 0}}, seed);
  return std::uint64_t{mixed.at[0]} | (std::uint64_t{mixed.at[1]} << 32);
}

// Four words for counter (a, b): the b-th group of four in the sequence (key, a).
__device__ inline Words words_of(std::uint64_t stream, std::uint64_t a, std::uint64_t b) {
  return philox({{static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32), static_cast<std::uint32_t>(b),
                  static_cast<std::uint32_t>(b >> 32)}},
                stream);
}

}  // namespace eave::cuda
