// How strongly workers and center pull each other: alpha, beta = workers · alpha, rho = alpha / learning rate. The user
// gives one of them, and the other two follow.
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
// --overlap, for methods whose exchanges run behind the following steps.
OptionSpec overlap_option();

// `rate` is the first learning rate. beta_is_free: alpha and beta are independent. Throws Error(kUsage) if options
// contradict each other; the message has the numbers and a right choice.
ElasticForce resolve_elastic_force(const OptionValues& values, int workers, double rate, bool beta_is_free);

// "rho = alpha/lr = 2 at the first lr 0.1"
std::string describe_rho(double rho, double learning_rate);

}  // namespace eave
