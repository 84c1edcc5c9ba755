// The settings of elastic averaging: its options, the numbers that follow from them, and the bounds of stability.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

// How strongly workers and center pull each other: alpha, beta = workers · alpha, rho = alpha / learning rate. The user
// gives one of them, and the other two follow.
struct ElasticForce {
  double alpha = 0;
  double beta = 0;
  double rho = 0;
};

// --alpha, --beta, --rho, --allow-unstable.
std::vector<OptionSpec> elastic_force_options();
OptionSpec alpha_option();
OptionSpec allow_unstable_option();
// --overlap, for methods whose exchanges run behind the following steps.
OptionSpec overlap_option();

// `rate` is the first learning rate. beta_is_free: alpha and beta are independent. Throws Error(kUsage) if options
// contradict each other; the message has the numbers and a right choice.
ElasticForce resolve_elastic_force(const OptionValues& values, int workers, double rate, bool beta_is_free);

// "rho = alpha/lr = 2 at the first lr 0.1"
std::string describe_rho(double rho, double learning_rate);

enum class ElasticOrder { kPaper, kAfterStep, kCenterFirst };

// beta = workers · alpha and rho = alpha / learning_rate. In center-first order beta is independent of alpha.
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

// Throws Error(kUsage) if options contradict each other. The message has the numbers and a right choice.
EasgdSettings resolve_easgd(const OptionValues& values, int workers, double learning_rate);

// The bound of alpha below which the orders paper and after-step are stable, with beta = workers · alpha. It holds on
// the quadratic h x²/2, for gradient descent without momentum, for rate_times_curvature = learning rate · h in [0, 1].
//
// Let q = rate · h, r = (1−q)^τ and s = (1−q)^(τ−1). From one exchange to the next, these matrices map the mean worker
// and the center:
//   paper       [[s(1−q−α), sα], [β, 1−β]]:        stable for α < 2(1+r) / (p(1+r) + 2s)
//   after-step  [[r(1−α), α], [rβ, 1−β]]:          stable for α < 2(1+r) / (p(1+r) + 2r)
// The binding condition is 1 + trace + determinant > 0. At q = 0, on a flat loss, both bounds are 2/(1+p), whatever
// τ is. For q > 0, after-step allows more. paper allows more for q > 0 if τ ≥ 2. With τ = 1 it allows less:
// (4 − 2q) / (2(1+p) − pq).
//
// center-first is stable for 0 < α < 2, 0 < β < 2 when q is in [0, 1]:
//   center-first  [[r(1−α+αβ), α(1−β)], [rβ, 1−β]] with determinant r(1−α)(1−β)
double stable_alpha_limit(ElasticOrder order, int workers, std::int64_t tau, double rate_times_curvature);

// "" if the settings are stable on a flat loss (q = 0). Otherwise a warning with the bound and the numbers in force.
std::string describe_instability(const EasgdSettings& settings);

// Lines of ASCII for the card: the formula, its numbers, the bound of stability.
std::string describe_equation(const EasgdSettings& settings);

}  // namespace eave
