// The options of Adam, and the numbers of one step, for every optimizer with parameters that follow Adam.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/options.h"
#include "eave/update_steps.h"

namespace eave {

struct AdamSettings {
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
};

// --adam-beta1, --adam-beta2 and --adam-epsilon.
std::vector<OptionSpec> adam_options();
// Throws Error(kUsage), also for the default of --lr. It suits sgd, and would silently ruin a run of `optimizer`.
AdamSettings read_adam_settings(const OptionValues& values, const std::string& optimizer);

// The step after `steps` − 1 others. `decay` is the weight decay, without the rate.
AdamwStep adam_step(const AdamSettings& settings, std::int64_t steps, double learning_rate, double decay, float clip);

// "m <- 0.9 m + (1 - 0.9) g; ..." up to "x <- x - lr (...)" with the weight decay `decay`.
std::string describe_adam(const AdamSettings& settings, double decay);

}  // namespace eave
