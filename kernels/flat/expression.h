// The parts of a flat pass: one expression, which moves along up to four vectors of equal length, element by element.
// Each word of this folder is a small struct of numbers, which the CPU, CUDA and the parity tests compile from the same
// header:
//
//     struct WriteStep {
//       static constexpr Use kOperands[] = {Use::kWritten, Use::kRead, Use::kRead};
//       float rate, decay;
//       EAVE_ANY_DEVICE void operator()(float& into, float x, float g) const;
//     };
//
// kOperands says how the operator uses its arguments, the elements of the vectors. A word may have one of two more
// properties. Then the operator has one more argument, the first:
//
//     static constexpr bool kMayBeAhead = true;  // `at` finds the iterate, which parameters may be ahead of
//     static constexpr bool kMayPull = true;     // `move` takes the step, with a pull or without it
//
// A step of an optimizer returns a mask, 0 if the element stayed as it was, and has kAnswers = true. If it has weight
// decay, kMayDecay = true: with_decay(word, share) is the word for parameters that decay by this share of it. Such a
// word keeps its numbers in a member `step`, and decay_of (kernels/flat/optimizers.h) has an overload for the type of
// `step`.
//
// Rules: no branches (selections vectorise), no fused multiply-add, and no function of the C library except square
// roots. Then all vector widths and both devices give the same bits. A value that is not finite is never written into
// what outlives the step (kernels/flat/finite.h).
#pragma once

#include <cstddef>

#include "kernels/flat/finite.h"

namespace eave::passes {

// kParameters are changed, and the device also stores their bfloat16 copy if it keeps one.
enum class Use { kRead, kWritten, kChanged, kParameters };

inline constexpr int kMostOperands = 4;

template <class Word>
inline constexpr int kOperandCount = sizeof(Word::kOperands) / sizeof(Use);

// A bit for each operand that is used so.
template <class Word>
constexpr unsigned operands_with(Use use) {
  unsigned bits = 0;
  for (int k = 0; k < kOperandCount<Word>; ++k) bits |= (Word::kOperands[k] == use ? 1u : 0u) << k;
  return bits;
}

template <class Word>
concept MayBeAhead = Word::kMayBeAhead;
template <class Word>
concept MayPull = Word::kMayPull;
template <class Word>
concept MayDecay = Word::kMayDecay;
template <class Word>
concept Answers = Word::kAnswers;

// The way from a parameter to its iterate and back. The parameter is the iterate, or iterate − lead, with lead =
// factor·velocity (see Ahead).
template <bool kIsAhead>
struct At {
  float lead = 0;
  EAVE_ANY_DEVICE float iterate_of(float parameter) const { return kIsAhead ? parameter + lead : parameter; }
  EAVE_ANY_DEVICE float parameter_of(float iterate) const { return kIsAhead ? iterate - lead : iterate; }
};

enum class Elastic { kNone, kPull, kArriveAndPull };

// Moves one element, with an elastic pull or without it (see Pull). `x` is the parameter and `iterate` the iterate,
// both from before the step; the optimizer adds `change`. Returns a mask: 0 if the new value would not be finite, so
// that the element stays as it was. Such an element takes no part in the exchange either, which keeps the sum of
// workers and center unchanged.
template <Elastic kElastic>
struct Move {
  float alpha;
  float* center;
  float* difference;

  EAVE_ANY_DEVICE Mask operator()(float& x, float iterate, float change) const {
    float d = 0;
    if constexpr (kElastic != Elastic::kNone) {
      float c = *center;
      if constexpr (kElastic == Elastic::kArriveAndPull) {
        const float sum = *difference;
        *center = c += masked(sum, mask_of_finite(c + sum));
      }
      d = alpha * (iterate - c);
    }
    const float moved = kElastic == Elastic::kNone ? x + change : x + change - d;
    // Adds again, zeros if the element stays: a selection would become a branch and a masked store.
    const Mask mask = mask_of_finite(moved);
    x = x + masked(change, mask);
    if constexpr (kElastic != Elastic::kNone) {
      *difference = masked(d, mask);
      x -= *difference;
    }
    return mask;
  }
};

// Calls the expression for element i of its vectors a, b, c, d; those that it does not have are not touched. `context`
// is the operator's first argument, if it has one.
template <class Word, class... Context>
EAVE_ANY_DEVICE auto call(const Word& word, std::size_t i, float* a, float* b, float* c, float* d,
                          const Context&... context) {
  static_cast<void>(b), static_cast<void>(c), static_cast<void>(d);
  constexpr int kCount = kOperandCount<Word>;
  static_assert(kCount <= kMostOperands);
  if constexpr (kCount == 1) return word(context..., a[i]);
  if constexpr (kCount == 2) return word(context..., a[i], b[i]);
  if constexpr (kCount == 3) return word(context..., a[i], b[i], c[i]);
  if constexpr (kCount == 4) return word(context..., a[i], b[i], c[i], d[i]);
}

}  // namespace eave::passes
