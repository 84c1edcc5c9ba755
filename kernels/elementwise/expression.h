// The parts of an elementwise expression. Each word of this folder is a small struct of at most one float, which the
// CPU and CUDA compile from the same header:
//
//     struct LeakyRelu {
//       float slope;
//       static constexpr bool kBackwardReadsOutput = false;
//       EAVE_ANY_DEVICE float forward(float x) const;
//       EAVE_ANY_DEVICE float backward(float x, float d_output) const;
//     };
//
// backward returns d_output times the derivative at x. With kBackwardReadsOutput its first argument is the output, so
// that the activation may work in place.
//
// Tests compare both with the formula in double: a row of test/device/activation_reference.h, or two functions of a
// word without a parameter, `static double exact(double x)` and `static double exact_slope(double x)`.
//
// Rules: no branches (selections vectorise), only the functions of kernels/elementwise/math.h, and no fused
// multiply-add but fused(). Then all vector widths and both devices give the same bits. NaN gives NaN, and infinities
// give the limits.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__CUDACC__)
#define EAVE_ANY_DEVICE __host__ __device__ __forceinline__
#else
#define EAVE_ANY_DEVICE inline __attribute__((always_inline))  // as EAVE_INLINE of kernels/cpu/multiversion.h
#endif

namespace eave::elementwise {

// A word without a parameter ignores it.
template <class Word>
inline Word make_word(float parameter) {
  if constexpr (std::is_empty_v<Word>) {
    static_cast<void>(parameter);
    return Word{};
  } else {
    return Word{parameter};
  }
}

EAVE_ANY_DEVICE std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
EAVE_ANY_DEVICE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

EAVE_ANY_DEVICE float magnitude(float x) { return float_of(bits_of(x) & 0x7fffffffu); }
// `value`, which is not negative, with the sign of x.
EAVE_ANY_DEVICE float with_sign_of(float x, float value) {
  return float_of(bits_of(value) | (bits_of(x) & 0x80000000u));
}

// a · b + c, rounded once. A CPU without the instruction calls the C library, which gives the same bits slowly.
EAVE_ANY_DEVICE float fused(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

// NaN passes both.
EAVE_ANY_DEVICE float at_least(float least, float x) { return x < least ? least : x; }
EAVE_ANY_DEVICE float at_most(float most, float x) { return x > most ? most : x; }

}  // namespace eave::elementwise
