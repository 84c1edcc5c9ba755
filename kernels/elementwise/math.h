// exp, tanh and the normal distribution as plain expressions, because those of the C library do not vectorise and
// differ between devices. The polynomials were fitted in double (iteratively reweighted least squares on Chebyshev
// nodes, which approaches the smallest largest relative error) to values of 40 digits, and rounded to float. The
// errors below are the largest of every 97th float, in units in the last place (ulp) of results that are normal
// numbers, against double.
#pragma once

#include "kernels/elementwise/expression.h"

namespace eave::elementwise {

// e^x = power · (1 + rest), where power is a power of two. x must be from −88 to 88.37.
struct ExpParts {
  float power, rest;
};

EAVE_ANY_DEVICE ExpParts split_exp(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 · 2^23: adding it rounds to a whole number, in the lowest bits
  const float shifted = fused(x, 1.44269504f, kRound);
  const float n = shifted - kRound;
  // ln 2 in two parts. The first has 9 bits, so x minus its product with n is exact.
  const float r = fused(n, 2.12194440e-4f, fused(n, -0.693359375f, x));
  // (e^r − 1 − r) / r² for |r| up to 0.3475; the error of e^r is 2^-28.2.
  float q = 1.3814222e-3f;
  q = fused(q, r, 8.368899e-3f);
  q = fused(q, r, 4.1668404e-2f);
  q = fused(q, r, 0.1666652f);
  q = fused(q, r, 0.49999994f);
  // The exponent is n + 127. For n = −127 it is 0, and power too.
  return {float_of((bits_of(shifted) << 23) + 0x3f800000u), fused(r * r, q, r)};
}

// e^x. 0 below −87.68, and 2.39e38 from 88.37 on. Between, it errs by at most 1.0 ulp.
EAVE_ANY_DEVICE float exp(float x) {
  const ExpParts parts = split_exp(at_most(88.37f, at_least(-88.0f, x)));
  return fused(parts.power, parts.rest, parts.power);
}

// Errs by at most 2.6 ulp.
EAVE_ANY_DEVICE float tanh(float x) {
  // tanh is 1 from 9.02 on. For small x, e^2x − 1 is `rest` alone, so no digits are lost.
  const ExpParts parts = split_exp(2.0f * at_most(10.0f, magnitude(x)));
  const float grown = fused(parts.power, parts.rest, parts.power - 1.0f);  // e^2|x| − 1
  return with_sign_of(x, grown / (grown + 2.0f));
}

// 1 / (1 + e^−x), and what it lacks to 1 with all its digits.
struct Logistic {
  float share, rest;
};

EAVE_ANY_DEVICE Logistic split_logistic(float x) {
  const float e = exp(-magnitude(x));
  const float large = 1.0f / (1.0f + e), small = e * large;
  return {x < 0 ? small : large, x < 0 ? large : small};
}

// 1 / (1 + e^−x). Errs by at most 2.3 ulp.
EAVE_ANY_DEVICE float logistic(float x) {
  const float e = exp(-magnitude(x));
  return (x < 0 ? e : 1.0f) / (1.0f + e);
}

// The standard normal distribution at x: the share below x, (1 + erf(x / √2)) / 2, and the density times √(2π).
struct Normal {
  float share, bell;
};

// From here on, the share below −x counts as 0. It is no normal number, and exp(−x² / 2) is already 0.
constexpr float kNormalEnd = 13.26f;

// The share errs by at most 5 ulp above −1. Below, the rounding of t² counts, and it errs by 3.4 · x² ulp.
EAVE_ANY_DEVICE Normal normal(float x) {
  const float t = at_most(kNormalEnd, magnitude(x));
  const ExpParts parts = split_exp(-0.5f * (t * t));  // within its range: −0.5 · 13.26² is −87.9
  const float bell = fused(parts.power, parts.rest, parts.power);
  // The share below −t is bell · g(t). g is smooth, and nearly a straight line of u = (t − k) / (t + k); its error is
  // 2^-27.9.
  const float u = (t - 3.875f) / (t + 3.875f);
  float g = -6.8273635e-5f;
  g = fused(g, u, -9.0099566e-5f);
  g = fused(g, u, 6.7609624e-4f);
  g = fused(g, u, -1.7042577e-4f);
  g = fused(g, u, -6.6361115e-3f);
  g = fused(g, u, 2.8099092e-2f);
  g = fused(g, u, -6.962025e-2f);
  g = fused(g, u, 0.12500887f);
  g = fused(g, u, -0.17435703f);
  g = fused(g, u, 9.7146995e-2f);
  const float tail = bell * g;
  return {x < 0 ? tail : 1.0f - tail, bell};
}

}  // namespace eave::elementwise
