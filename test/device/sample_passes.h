// Each word of kernels/flat with sample numbers and vectors, for tests that compare devices bit by bit. A new word is
// tested without a change here.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "eave/random.h"
#include "kernels/flat/flat_pass.h"

namespace eave {

// The operands of a pass, then its center or velocity, and its difference.
inline constexpr std::size_t kPassVectors = passes::kMostOperands + 2;
using PassSlices = std::array<Slice, kPassVectors>;

// A word with one of the ways to use it: alone (0), or with parameters that are ahead of their iterate (1), or with an
// elastic pull (1) whose center may be behind (2).
struct SamplePass {
  std::string name;
  FlatWord word;
  int way = 0;
  bool pulls = false, answers = false;
  bool has_shares = false;  // the last vector, if no pull uses it, has a share of the weight decay for each block
  int parameters = -1;      // the operand of which a device may store a bfloat16 copy; −1: none

  template <class Run>
  auto with(const PassSlices& s, Run run) const {
    const Slice e = s[kPassVectors - 2];
    const Pull pull = {e, 0.375f, s[kPassVectors - 1], way == 2};
    FlatPass pass = {word, {s[0], s[1], s[2], s[3]}};
    if (way > 0 && pulls) pass.pull = &pull;
    if (way > 0 && !pulls) pass.ahead = {e, 0.0625f};
    if (has_shares) pass.decay_shares = s[kPassVectors - 1].first((s[0].size() + kDecayBlock - 1) / kDecayBlock);
    return run(pass);
  }
};

// Numbers whose lowest byte is 0, so that a bool among them is false.
template <class Word>
Word sample_word() {
  if constexpr (std::is_empty_v<Word>) {
    return {};
  } else {
    std::array<float, sizeof(Word) / sizeof(float)> numbers;
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = 0.8125f - 0.0625f * static_cast<float>(k);
    return std::bit_cast<Word>(numbers);
  }
}

template <class Word>
void add_samples(const std::string& name, std::vector<SamplePass>& samples) {
  constexpr bool kPulls = passes::MayPull<Word>;
  for (int way = 0; way < (kPulls ? 3 : passes::MayBeAhead<Word> ? 2 : 1); ++way) {
    SamplePass sample = {name + ", way " + std::to_string(way), sample_word<Word>(), way, kPulls,
                         passes::Answers<Word>};
    for (int k = 0; k < passes::kOperandCount<Word>; ++k) {
      if (Word::kOperands[k] == passes::Use::kParameters) sample.parameters = k;
    }
    samples.push_back(sample);
    if constexpr (passes::MayDecay<Word>) {
      sample.name += ", with shares of the weight decay";
      sample.has_shares = way == 0;
      if (way == 0) samples.push_back(sample);
    }
  }
}

inline std::vector<SamplePass> sample_passes() {
  std::vector<SamplePass> samples;
#define EAVE_ADD(word, Word) add_samples<passes::Word>(#word, samples);
  EAVE_EACH_FLAT_PASS(EAVE_ADD)
#undef EAVE_ADD
  return samples;
}

// Normally distributed numbers, of which `with_special` replaces about every 16th by one that a gate or a rounding may
// treat badly.
inline std::vector<float> sample_vector(std::size_t size, std::uint32_t part, bool with_special) {
  using Limits = std::numeric_limits<float>;
  constexpr float kSpecial[] = {Limits::quiet_NaN(),
                                Limits::infinity(),
                                -Limits::infinity(),
                                3e38f,
                                -3e38f,
                                1e-40f,
                                -1e-40f,
                                -0.0f,
                                0.0f,
                                1e-20f};
  RandomStream random({23, Purpose::kTest, part}, 0);
  std::vector<float> values(size);
  for (float& value : values) {
    value = random.normal();
    if (with_special && random.below(16) == 0) value = kSpecial[random.below(std::size(kSpecial))];
  }
  return values;
}

using PassVectors = std::array<std::vector<float>, kPassVectors>;

inline PassVectors sample_vectors(std::size_t size, bool with_special) {
  PassVectors vectors;
  for (std::size_t k = 0; k < kPassVectors; ++k) {
    vectors[k] = sample_vector(size, static_cast<std::uint32_t>(k), with_special);
  }
  for (float& value : vectors[3]) value = std::abs(value);  // squares, for AdamW
  return vectors;
}

// Expects the same bits. NaN equals each NaN: its bits depend on the order of operands, which compilers choose.
inline void expect_equal_bits(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << got[i] << " and " << expected[i] << " at " << i << " of " << got.size();
  }
}

}  // namespace eave
