// Puts options of `eave train` into the plan of a training: checkpoints, faults and batch-norm statistics.
#pragma once

#include <string>
#include <vector>

#include "eave/options.h"
#include "eave/trainer.h"

namespace eave {

// The methods that --on-drop reset-to-center works with: "bmuf, diloco".
std::string methods_that_reset();

// The plan for checkpoints that the options ask for, without notes. Throws Error(kUsage).
CheckpointPlan plan_checkpoints(const OptionValues& values);

// --slow-rank 2:4x: rank 2 computes four times as long.
struct SlowRank {
  int rank = -1;
  double factor = 1;
};
// Throws Error(kUsage) if the text cannot be read or the rank is not below `ranks`.
SlowRank parse_slow_rank(const std::string& text, int ranks);

// Puts the options into the plan of one rank. `workers` is the number of ranks that train, `parameters` the size of the
// model. The plan's steps must be set. Throws Error(kUsage) if options contradict each other or would have no effect.
void plan_faults(const OptionValues& values, const CommunicatorTraits& traits, int rank, int workers,
                 std::int64_t parameters, TrainingPlan& plan);

// A sentence if a resumed run begins after the step of --inject-fault, else "".
std::string describe_passed_fault(const OptionValues& values, int workers, std::int64_t first_step);

// A sentence about the options given that have no effect because the job has one rank, else "".
std::string describe_options_of_ranks(const OptionValues& values, const CommunicatorTraits& traits);

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
