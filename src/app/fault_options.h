// What a run does when numbers go wrong.
#pragma once

#include <vector>

#include "eave/options.h"
#include "eave/trainer.h"

namespace eave {

std::vector<OptionSpec> fault_options();

// Of one of the ranks that train a model with so many parameters, after the plan's steps are known. Throws
// Error(kUsage) for options that contradict each other or would have no effect.
void plan_faults(const OptionValues& values, const CommunicatorTraits& traits, int rank, int workers,
                 std::int64_t parameters, TrainingPlan& plan);

}  // namespace eave
