// Plans which batch norm statistics a run evaluates and saves.
#pragma once

#include <string>

#include "eave/options.h"
#include "eave/trainer.h"

namespace eave {

// `has_norms`: the model has batch norm. Throws Error(kUsage) for options that would have no effect.
void plan_norm_statistics(const OptionValues& values, bool has_norms, TrainingPlan& plan);

// Refuses batches for which batch norm would see a single value. It then returns its shift for every input, so the
// layers before it would silently learn nothing.
// `samples`: of the smallest batch that is normalised in every step. `last_samples`: of an epoch's last step, on the
// rank with the fewest. Throws Error(kConfiguration) if every step is affected; returns a warning if only the last one
// is; else "".
std::string check_norm_batches(std::int64_t norm_positions, std::int64_t samples, std::int64_t last_samples);

// The card's text. `spans_ranks`: in training, batch norm spans the batches of all ranks.
std::string describe_norm_statistics(const TrainingPlan& plan, bool spans_ranks);

}  // namespace eave
