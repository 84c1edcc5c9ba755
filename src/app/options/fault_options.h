// The options for numerical faults, and what they change in the plan of a training.
#pragma once

#include <vector>

#include "eave/options.h"
#include "eave/trainer.h"

namespace eave {

std::vector<OptionSpec> fault_options();

// Puts the options into the plan of one rank. `workers` is the number of ranks that train, `parameters` the size of the
// model. The plan's steps must be set. Throws Error(kUsage) if options contradict each other or would have no effect.
void plan_faults(const OptionValues& values, const CommunicatorTraits& traits, int rank, int workers,
                 std::int64_t parameters, TrainingPlan& plan);

}  // namespace eave
