#include <algorithm>
#include <cstddef>

#include "kernels/cpu/multiversion.h"
#include "kernels/flat/flat_pass.h"

namespace eave::cpu {
namespace {

using passes::At;
using passes::Elastic;
using passes::Mask;
using passes::Move;

// The source of a word's first argument, which `at` makes for element i. A plain word has none.
struct NoArgument {};

template <bool kIsAhead>
struct AheadArgument {
  const float* velocity;
  float factor;
  EAVE_INLINE At<kIsAhead> at(std::size_t i) const {
    if constexpr (kIsAhead) return {factor * velocity[i]};
    return {};
  }
};

template <Elastic kElastic>
struct PullArgument {
  float* center;
  float* difference;
  float alpha;
  EAVE_INLINE Move<kElastic> at(std::size_t i) const {
    if constexpr (kElastic == Elastic::kNone) return {};
    return {alpha, center + i, difference + i};
  }
  EAVE_INLINE void fetch(std::size_t i) const {
    if constexpr (kElastic == Elastic::kNone) return;
    __builtin_prefetch(center + i, 1), __builtin_prefetch(difference + i, 1);
  }
};

// Returns 0 if an element stayed as it was.
template <class Word, class Argument>
EAVE_INLINE Mask run_part(const Word& word, const Argument& argument, std::size_t begin, std::size_t end,
                          float* __restrict a, float* __restrict b, float* __restrict c, float* __restrict d) {
  Mask all = -1;
  for (std::size_t i = begin; i < end; ++i) {
    if constexpr (passes::Answers<Word>) {
      all &= passes::call(word, i, a, b, c, d, argument.at(i));
    } else if constexpr (passes::MayPull<Word> || passes::MayBeAhead<Word>) {
      passes::call(word, i, a, b, c, d, argument.at(i));
    } else {
      passes::call(word, i, a, b, c, d);
    }
  }
  return all;
}

// An optimizer has many arrays and does little work per value, so one core alone has too few loads in flight. Prefetch,
// for writing, the values that are needed some blocks later. 3.3 M parameters in memory take 1.5 ms instead of 2.1, and
// with a pull 3.2 instead of 3.6 (Intel Xeon). Prefetches beyond the end fetch nothing that is used.
constexpr std::size_t kBlock = 128, kAheadOf = 512, kLine = 16;  // values

template <class Word, class Argument>
EAVE_INLINE bool run_in_blocks(const Word& word, const Argument& argument, std::size_t size, float* __restrict a,
                               float* __restrict b, float* __restrict c, float* __restrict d) {
  constexpr int kCount = passes::kOperandCount<Word>;
  Mask all = -1;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    for (std::size_t i = begin + kAheadOf; i < begin + kAheadOf + kBlock; i += kLine) {
      __builtin_prefetch(a + i, 1), __builtin_prefetch(b + i, 1);
      if constexpr (kCount > 2) __builtin_prefetch(c + i, 1);
      if constexpr (kCount > 3) __builtin_prefetch(d + i, 1);
      argument.fetch(i);
    }
    all &= run_part(word, argument, begin, std::min(size, begin + kBlock), a, b, c, d);
  }
  return all != 0;
}

template <class Word, class Argument>
EAVE_INLINE bool run_with(const Word& word, const Argument& argument, std::size_t size, float* __restrict a,
                          float* __restrict b, float* __restrict c, float* __restrict d) {
  if constexpr (passes::Answers<Word>) {
    return run_in_blocks(word, argument, size, a, b, c, d);
  } else {
    run_part(word, argument, 0, size, a, b, c, d);
    return true;
  }
}

// e and f are the center and the difference, or e is the velocity.
template <class Word>
EAVE_INLINE bool choose(const Word& word, const FlatPass& pass, std::size_t size, float* __restrict a,
                        float* __restrict b, float* __restrict c, float* __restrict d, float* __restrict e,
                        float* __restrict f) {
  if constexpr (passes::MayPull<Word>) {
    if (pass.pull == nullptr) return run_with(word, PullArgument<Elastic::kNone>{}, size, a, b, c, d);
    const float alpha = pass.pull->alpha;
    return pass.pull->center_is_behind
               ? run_with(word, PullArgument<Elastic::kArriveAndPull>{e, f, alpha}, size, a, b, c, d)
               : run_with(word, PullArgument<Elastic::kPull>{e, f, alpha}, size, a, b, c, d);
  } else if constexpr (passes::MayBeAhead<Word>) {
    return e == nullptr ? run_with(word, AheadArgument<false>{}, size, a, b, c, d)
                        : run_with(word, AheadArgument<true>{e, pass.ahead.factor}, size, a, b, c, d);
  } else {
    return run_with(word, NoArgument{}, size, a, b, c, d);
  }
}

float* from(float* vector, std::size_t begin) { return vector == nullptr ? nullptr : vector + begin; }

// Calls action(word, begin, end) for each longest part of the vectors with one weight decay.
template <class Word, class Action>
bool run_by_decay(const Word& word, const FlatPass& pass, const Action& action) {
  if constexpr (passes::MayDecay<Word>) {
    const ConstSlice shares = pass.decay_shares;
    bool all = true;
    for (std::size_t block = 0, next = 1; block < shares.size(); block = next++) {
      while (next < shares.size() && shares[next] == shares[block]) ++next;
      const std::size_t end = next == shares.size() ? pass.size() : next * kDecayBlock;
      all &= action(passes::with_decay(word, shares[block]), block * kDecayBlock, end);
    }
    if (!shares.empty()) return all;
  }
  return action(word, 0, pass.size());
}

// Macros, because functions made from templates cannot have versions. They repeat __restrict, although the inlined
// loops have it. Without it the compiler would check six arrays for overlap at run time, which is too many, and give up
// on vectors.
#define EAVE_DEFINE_RUN(word, Word)                                                                                  \
  EAVE_MULTIVERSION bool run_##word(passes::Word expression, const FlatPass& pass, std::size_t size,                 \
                                    float* __restrict a, float* __restrict b, float* __restrict c,                   \
                                    float* __restrict d, float* __restrict e, float* __restrict f) {                 \
    return choose(expression, pass, size, a, b, c, d, e, f);                                                         \
  }                                                                                                                  \
  bool run_word(const passes::Word& expression, const FlatPass& pass, float* e, float* f) {                          \
    return run_by_decay(expression, pass, [&](const passes::Word& part, std::size_t begin, std::size_t end) {        \
      return run_##word(part, pass, end - begin, from(pass.operand(0), begin), from(pass.operand(1), begin),         \
                        from(pass.operand(2), begin), from(pass.operand(3), begin), from(e, begin), from(f, begin)); \
    });                                                                                                              \
  }
EAVE_EACH_FLAT_PASS(EAVE_DEFINE_RUN)
#undef EAVE_DEFINE_RUN

}  // namespace

bool run(const FlatPass& pass) {
  float* const e = pass.pull != nullptr ? pass.pull->center.data() : const_cast<float*>(pass.velocity());
  float* const f = pass.pull != nullptr ? pass.pull->difference.data() : nullptr;
  return std::visit([&](const auto& word) { return run_word(word, pass, e, f); }, pass.word);
}

}  // namespace eave::cpu
