// What can be said to `eave train`.
#pragma once

#include "app/command_line.h"
#include "eave/trainer.h"

namespace eave {

CommandLine train_command_line();

// Those that --on-drop reset-to-center may be given with: "bmuf, diloco".
std::string methods_that_reset();

// Without notes. Throws Error(kUsage).
CheckpointPlan plan_checkpoints(const OptionValues& values);

// --slow-rank 2:4x: rank 2 computes four times as long.
struct SlowRank {
  int rank = -1;
  double factor = 1;
};
// Throws Error(kUsage) for text that cannot be read. `ranks` bounds the rank.
SlowRank parse_slow_rank(const std::string& text, int ranks);

}  // namespace eave
