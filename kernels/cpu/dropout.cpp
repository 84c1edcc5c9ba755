#include <cmath>
#include <cstdint>

#include "eave/random.h"
#include "kernels/cpu/layers.h"
#include "kernels/cpu/multiversion.h"

namespace eave::cpu {
namespace {

constexpr std::int64_t kRandomBlocks = 16;                 // counters at a time
constexpr std::int64_t kRandomHalves = 8 * kRandomBlocks;  // their numbers of 16 bits

// The stream that RandomStream makes of a key.
std::uint64_t random_stream_of(const RandomKey& key) {
  const auto mixed = philox({static_cast<std::uint32_t>(key.purpose), key.part, 0, 0}, key.seed);
  return std::uint64_t{mixed[0]} | (std::uint64_t{mixed[1]} << 32);
}

// The words of RandomStream (key, a) from its block `first` on, each cut into its lower and its upper half.
EAVE_INLINE void random_halves(std::uint64_t stream, std::uint64_t a, std::uint64_t first,
                               std::uint32_t halves[kRandomHalves]) {
  std::uint32_t c0[kRandomBlocks], c1[kRandomBlocks], c2[kRandomBlocks], c3[kRandomBlocks];
  for (std::int64_t i = 0; i < kRandomBlocks; ++i) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(a);
    c1[i] = static_cast<std::uint32_t>(a >> 32);
    c2[i] = static_cast<std::uint32_t>(block);
    c3[i] = static_cast<std::uint32_t>(block >> 32);
  }
  auto key_a = static_cast<std::uint32_t>(stream), key_b = static_cast<std::uint32_t>(stream >> 32);
  for (int round = 0; round < 10; ++round, key_a += 0x9E3779B9, key_b += 0xBB67AE85) {
    for (std::int64_t i = 0; i < kRandomBlocks; ++i) {
      const std::uint64_t p = std::uint64_t{0xD2511F53} * c0[i], q = std::uint64_t{0xCD9E8D57} * c2[i];
      c0[i] = static_cast<std::uint32_t>(q >> 32) ^ c1[i] ^ key_a;
      c1[i] = static_cast<std::uint32_t>(q);
      c2[i] = static_cast<std::uint32_t>(p >> 32) ^ c3[i] ^ key_b;
      c3[i] = static_cast<std::uint32_t>(p);
    }
  }
  for (std::int64_t i = 0; i < kRandomBlocks; ++i) {
    const std::uint32_t words[4] = {c0[i], c1[i], c2[i], c3[i]};
    for (std::int64_t k = 0; k < 8; ++k) halves[8 * i + k] = words[k / 2] >> (k % 2 * 16) & 0xffff;
  }
}

// The rule by which a value is kept: its 16 random bits are at least `threshold`.
struct Rule {
  explicit Rule(float rate)
      : threshold(static_cast<std::uint32_t>(std::lround(rate * 65536.0f))), factor(1.0f / (1.0f - rate)) {}
  std::uint32_t threshold;
  float factor;
};

EAVE_MULTIVERSION void drop(std::uint64_t stream, std::uint64_t counter, Rule rule, std::int64_t size,
                            const float* input, float* output) {
  std::uint32_t halves[kRandomHalves];
  std::int64_t begin = 0;
  for (; begin + kRandomHalves <= size; begin += kRandomHalves) {
    random_halves(stream, counter, static_cast<std::uint64_t>(begin / 8), halves);
    const float* const from = input + begin;
    float* const into = output + begin;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < kRandomHalves; ++i) into[i] = halves[i] >= rule.threshold ? from[i] * rule.factor : 0;
  }
  if (begin == size) return;
  random_halves(stream, counter, static_cast<std::uint64_t>(begin / 8), halves);
  for (std::int64_t i = begin; i < size; ++i) {
    output[i] = halves[i - begin] >= rule.threshold ? input[i] * rule.factor : 0;
  }
}

EAVE_MULTIVERSION void write_factors(std::uint64_t stream, std::uint64_t counter, std::uint64_t first, Rule rule,
                                     std::int64_t count, float* factors) {
  std::uint32_t halves[kRandomHalves];
  for (std::int64_t begin = 0; begin < count; begin += kRandomHalves) {
    random_halves(stream, counter, first + static_cast<std::uint64_t>(begin / 8), halves);
    const std::int64_t here = count - begin < kRandomHalves ? count - begin : kRandomHalves;
    for (std::int64_t i = 0; i < here; ++i) factors[begin + i] = halves[i] >= rule.threshold ? rule.factor : 0;
  }
}

}  // namespace

void dropout(const RandomKey& key, std::uint64_t counter, float rate, std::int64_t size, const float* input,
             float* output) {
  drop(random_stream_of(key), counter, Rule(rate), size, input, output);
}

void dropout_factors(const RandomKey& key, std::uint64_t counter, std::uint64_t first, float rate, std::int64_t count,
                     float* factors) {
  write_factors(random_stream_of(key), counter, first, Rule(rate), count, factors);
}

}  // namespace eave::cpu
