// The bound of stability for workers that push to a center in turns.
#pragma once

#include <cstdint>

namespace eave {

// Consider the quadratic h x²/2 without noise. p workers push to a center c in turns; each pulled c when it pushed
// last. Returns the q at which c begins to oscillate with growing amplitude. It does not for any q between 0 and this
// limit.
//
// With plain pushes c_{k+1} = c_k − q c_{k−p+1}, q = 1 − (1 − ηh)^τ. The limit is 2 sin(π/(4p − 2)), at which a pair of
// roots of λ^p − λ^{p−1} + q leaves the unit circle (Levin, May 1976).
//
// With Nesterov's momentum δ at the center and τ = 1, q = ηh. The same condition then holds for λ^{p−1}(λ − 1)(λ − δ) +
// q((1 + δ)λ − δ).
//
// Both limits are derived here; no paper states them.
double round_robin_limit(int workers, double center_momentum);

// The ηh up to which 1 − (1 − ηh)^τ stays below that limit, without momentum.
double largest_rate_times_curvature(int workers, std::int64_t tau);

}  // namespace eave
