// The options of `eave train`.
#pragma once

#include "app/main/command_line.h"
#include "eave/trainer.h"

namespace eave {

CommandLine train_command_line();

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

}  // namespace eave
