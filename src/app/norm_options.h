// Whose batch norm statistics a run evaluates and saves.
#pragma once

#include <string>

#include "eave/options.h"
#include "eave/trainer.h"

namespace eave {

// `has_norms`: the model has batch norm. Throws Error(kUsage) for options that would have no effect.
void plan_norm_statistics(const OptionValues& values, bool has_norms, TrainingPlan& plan);

// For the card. `spans_ranks`: batch norm is over the batches of all ranks, in training.
std::string describe_norm_statistics(const TrainingPlan& plan, bool spans_ranks);

}  // namespace eave
