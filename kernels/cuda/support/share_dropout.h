// Dropout of attention's shares on the device: the same factors as cpu::dropout_factors gives.
#pragma once

#include <cmath>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/philox.h"

namespace eave::cuda {

struct ShareRule {
  ShareDropout of;
  std::uint32_t threshold;
  float factor;
};

inline ShareRule rule_of(const ShareDropout& dropout) {
  return {dropout, static_cast<std::uint32_t>(std::lround(dropout.rate * 65536.0f)), 1.0f / (1.0f - dropout.rate)};
}

// The factors of one head's shares.
struct ShareFactors {
  const ShareRule& rule;
  std::uint64_t stream = 0, counter = 0;
  std::uint64_t first_row = 0;  // of the head, in the matrices of positions × positions of all heads
  std::uint64_t blocks = 0;     // of random numbers in a row: a row begins a new one

  __device__ ShareFactors(const ShareRule& of, const Attention& shape, std::int64_t sample, int head) : rule(of) {
    if (!drops()) return;
    const PassBlock& block = *rule.of.block;
    stream = stream_of(block.seed, Purpose::kDropout, rule.of.layer);
    counter = static_cast<std::uint64_t>(block.step) << 32 ^ static_cast<std::uint64_t>(rule.of.indices[sample]);
    first_row = static_cast<std::uint64_t>(head) * static_cast<std::uint64_t>(shape.positions);
    blocks = static_cast<std::uint64_t>(shape.positions + 7) / 8;
  }

  __device__ bool drops() const { return rule.of.rate > 0; }
  // For the keys from `key` on, a multiple of 4.
  __device__ Lanes<4> four(int query, int key) const {
    const std::uint64_t row = (first_row + static_cast<std::uint64_t>(query)) * blocks;
    const Words words = words_of(stream, counter, row + static_cast<std::uint64_t>(key / 8));
    const bool first = key % 8 == 0;
    const std::uint32_t low = first ? words.at[0] : words.at[2], high = first ? words.at[1] : words.at[3];
    return {{factor(low & 0xffff), factor(low >> 16), factor(high & 0xffff), factor(high >> 16)}};
  }

 private:
  __device__ float factor(std::uint32_t bits) const { return bits >= rule.threshold ? rule.factor : 0.0f; }
};

}  // namespace eave::cuda
