// How long steps may be when workers push to a center in turns.
#pragma once

#include <cstdint>

namespace eave {

// On the quadratic h x²/2 without noise, with p workers that push to a center c in turns, each having pulled c when it
// last pushed: the q at which the center begins to swing ever wider, for every q from 0 up to it does not.
//
// With plain pushes c_{k+1} = c_k − q c_{k−p+1}, q = 1 − (1 − ηh)^τ: the limit is 2 sin(π/(4p − 2)), where a pair of
// roots of λ^p − λ^{p−1} + q leaves the unit circle (Levin, May 1976). With Nesterov's momentum δ at the center and
// τ = 1, q = ηh: the same for λ^{p−1}(λ − 1)(λ − δ) + q((1 + δ)λ − δ). Derived here, no paper states them.
double round_robin_limit(int workers, double center_momentum);

// The η h up to which 1 − (1 − ηh)^τ stays below that limit, without momentum.
double largest_rate_times_curvature(int workers, std::int64_t tau);

}  // namespace eave
