// Whose batch norm statistics a run evaluates and saves.
#pragma once

#include <string>

#include "eave/options.h"
#include "eave/trainer.h"

namespace eave {

// `has_norms`: the model has batch norm. Throws Error(kUsage) for options that would have no effect.
void plan_norm_statistics(const OptionValues& values, bool has_norms, TrainingPlan& plan);

// Batch norm over one value gives its shift whatever the value is: the layers before it would learn nothing, in
// silence. `samples`: of the smallest batch that is normalised in every step; `last_samples`: of the last step of an
// epoch, on the rank that has fewest. Throws Error(kConfiguration) if every step is so, and returns a warning if the
// last one is.
std::string check_norm_batches(std::int64_t norm_positions, std::int64_t samples, std::int64_t last_samples);

// For the card. `spans_ranks`: batch norm is over the batches of all ranks, in training.
std::string describe_norm_statistics(const TrainingPlan& plan, bool spans_ranks);

}  // namespace eave
