// Each word of kernels/flat on the CPU, at every vector width, against its expression called for one element after the
// other. A new word is tested without a change here.
#include <gtest/gtest.h>

#include "kernels/flat/flat_pass.h"
#include "test/device/sample_passes.h"

namespace eave {
namespace {

template <class Word, passes::Elastic kElastic>
bool pull_one_by_one(const Word& word, const FlatPass& pass) {
  bool all = true;
  for (std::size_t i = 0; i < pass.size(); ++i) {
    passes::Move<kElastic> move = {};
    if (pass.pull != nullptr) move = {pass.pull->alpha, &pass.pull->center[i], &pass.pull->difference[i]};
    all &= passes::call(word, i, pass.operand(0), pass.operand(1), pass.operand(2), pass.operand(3), move) != 0;
  }
  return all;
}

template <class Word>
bool run_one_by_one(const Word& word, const FlatPass& pass) {
  if constexpr (passes::MayDecay<Word>) {
    bool all = true;
    for (std::size_t i = 0; i < pass.size() && !pass.decay_shares.empty(); ++i) {
      const Word own = passes::with_decay(word, pass.decay_shares[i / kDecayBlock]);
      all &= passes::call(own, i, pass.operand(0), pass.operand(1), pass.operand(2), pass.operand(3),
                          passes::Move<passes::Elastic::kNone>{}) != 0;
    }
    if (!pass.decay_shares.empty()) return all;
  }
  if constexpr (passes::MayPull<Word>) {
    if (pass.pull == nullptr) return pull_one_by_one<Word, passes::Elastic::kNone>(word, pass);
    return pass.pull->center_is_behind ? pull_one_by_one<Word, passes::Elastic::kArriveAndPull>(word, pass)
                                       : pull_one_by_one<Word, passes::Elastic::kPull>(word, pass);
  } else {
    for (std::size_t i = 0; i < pass.size(); ++i) {
      const auto call = [&](const auto&... at) {
        passes::call(word, i, pass.operand(0), pass.operand(1), pass.operand(2), pass.operand(3), at...);
      };
      if constexpr (!passes::MayBeAhead<Word>) {
        call();
      } else if (pass.velocity() == nullptr) {
        call(passes::At<false>{});
      } else {
        call(passes::At<true>{pass.ahead.factor * pass.velocity()[i]});
      }
    }
    return true;
  }
}

// The vectors, each from its offset on.
PassSlices slices_of(PassVectors& vectors, std::size_t offset) {
  PassSlices slices;
  for (std::size_t k = 0; k < kPassVectors; ++k) slices[k] = Slice(vectors[k]).subspan(offset * (k + 1));
  return slices;
}

void expect_same_as_one_by_one(const SamplePass& sample, std::size_t size, std::size_t offset, bool with_special) {
  PassVectors expected = sample_vectors(size + offset * kPassVectors, with_special);
  PassVectors got = expected;
  const auto first = [&](PassVectors& vectors) {
    PassSlices slices = slices_of(vectors, offset);
    for (Slice& each : slices) each = each.first(size);
    return slices;
  };
  const bool all_expected = sample.with(first(expected), [](const FlatPass& pass) {
    return std::visit([&](const auto& word) { return run_one_by_one(word, pass); }, pass.word);
  });
  const bool all_got = sample.with(first(got), [](const FlatPass& pass) { return cpu::run(pass); });
  EXPECT_EQ(all_got, !sample.answers || all_expected);
  for (std::size_t k = 0; k < kPassVectors; ++k) expect_equal_bits(got[k], expected[k]);
}

TEST(FlatPasses, give_the_bits_of_their_expressions) {
  for (const SamplePass& sample : sample_passes()) {
    for (const std::size_t size : {0u, 1u, 3u, 15u, 16u, 17u, 127u, 128u, 129u, 1003u}) {
      for (const std::size_t offset : {0u, 1u}) {
        for (const bool with_special : {false, true}) {
          SCOPED_TRACE(sample.name + ", " + std::to_string(size) + " elements, offset " + std::to_string(offset));
          expect_same_as_one_by_one(sample, size, offset, with_special);
        }
      }
    }
  }
}

// Whatever lies in the vectors, what outlives a step stays finite if it was.
TEST(FlatPasses, of_optimizers_write_finite_parameters_only) {
  const PassVectors finite = sample_vectors(4099, false), special = sample_vectors(4099, true);
  for (const SamplePass& sample : sample_passes()) {
    if (!sample.answers) continue;
    SCOPED_TRACE(sample.name);
    PassVectors vectors = special;
    for (const std::size_t kept : {0u, 2u, 3u, 4u}) vectors[kept] = finite[kept];
    EXPECT_FALSE(sample.with(slices_of(vectors, 0), [](const FlatPass& pass) { return cpu::run(pass); }));
    for (const std::size_t kept : {0u, 2u, 3u, 4u}) {
      for (const float value : vectors[kept]) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

}  // namespace
}  // namespace eave
