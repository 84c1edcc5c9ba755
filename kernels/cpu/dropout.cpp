#include <algorithm>
#include <cmath>

#include "kernels/cpu/layers.h"
#include "kernels/cpu/random_lanes.h"

namespace eave::cpu {
namespace {

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
