// How strongly workers and center pull each other: alpha, beta = workers alpha, rho = alpha / learning rate. Any one is
// given, the others follow.
#pragma once

#include <string>
#include <vector>

#include "eave/communicator.h"

namespace eave {

struct ElasticForce {
  double alpha = 0;
  double beta = 0;
  double rho = 0;
};

// --alpha, --beta, --rho, --allow-unstable.
std::vector<OptionSpec> elastic_force_options();
OptionSpec alpha_option();
OptionSpec allow_unstable_option();
// For methods whose exchanges go on behind the steps.
OptionSpec overlap_option();

// Throws Error(kUsage), with the numbers and what would be right, for options that contradict each other. `rate` is the
// first learning rate; beta_is_free: alpha and beta are independent.
ElasticForce resolve_elastic_force(const OptionValues& values, int workers, double rate, bool beta_is_free);

// "rho = alpha/lr = 2 at the first lr 0.1"
std::string describe_rho(double rho, double learning_rate);

}  // namespace eave
