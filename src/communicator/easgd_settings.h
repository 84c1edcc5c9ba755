// The numbers of elastic averaging: options, what follows from them, and whether they are stable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

enum class ElasticOrder { kPaper, kAfterStep, kCenterFirst };

// beta = workers · alpha and rho = alpha / learning_rate; in center-first order beta is free.
struct EasgdSettings {
  ElasticOrder order = ElasticOrder::kPaper;
  double alpha = 0;
  double beta = 0;
  double rho = 0;
  std::int64_t tau = 1;
  bool overlap = true;
  bool allow_unstable = false;
  int workers = 1;
  double learning_rate = 0;
};

std::vector<OptionSpec> easgd_options();

// Throws Error(kUsage), with the numbers and what would be right, for options that contradict each other.
EasgdSettings resolve_easgd(const OptionValues& values, int workers, double learning_rate);

// The alpha below which the orders paper and after-step, with beta = workers · alpha, are stable on the quadratic
// h x²/2 under gradient descent without momentum, for rate_times_curvature = learning rate · h in [0, 1].
//
// With q = rate · h, r = (1−q)^τ and s = (1−q)^(τ−1), the mean worker and the center go from one exchange to the next
// by
//   paper       [[s(1−q−α), sα], [β, 1−β]]:        stable for α < 2(1+r) / (p(1+r) + 2s)
//   after-step  [[r(1−α), α], [rβ, 1−β]]:          stable for α < 2(1+r) / (p(1+r) + 2r)
// (the condition 1 + trace + determinant > 0 binds). At q = 0 both are 2/(1+p), whatever τ: the bound that holds for
// every loss. after-step allows more for q > 0, and so does paper at τ ≥ 2; paper at τ = 1 allows less,
// (4 − 2q) / (2(1+p) − pq). center-first is stable for 0 < α < 2, 0 < β < 2 when q is in [0, 1]:
//   center-first  [[r(1−α+αβ), α(1−β)], [rβ, 1−β]] with determinant r(1−α)(1−β).
double stable_alpha_limit(ElasticOrder order, int workers, std::int64_t tau, double rate_times_curvature);

// "" when the settings are stable on every nearly flat loss; otherwise a warning with the bound and what is in force.
std::string describe_instability(const EasgdSettings& settings);

// Lines of ASCII: the formula, its numbers, the stability bound.
std::string describe_equation(const EasgdSettings& settings);

}  // namespace eave
