// Runs one training, from its options to its results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/main/command_line.h"
#include "app/run/sample_check.h"
#include "eave/options.h"
#include "eave/recorder.h"
#include "eave/transport.h"

namespace eave {

class RankProgress;  // guard/rank_progress.h

// How a training relates to the rest of what this process does.
struct TrainingContext {
  // Set for a training that is one run of a comparison. It prints nothing. If it diverges, it ends on all ranks by
  // AgreedError, so that the comparison can go on with the next run.
  bool is_part = false;
  // For a part: the directory of the comparison, in which eave chose --run-dir.
  std::filesystem::path output = {};
  std::vector<std::string>* warnings = nullptr;  // for a part: receives rank 0's warnings
  // For a part: the result of the last run's check of samples. Receives the result of this run.
  CheckedSamples* checked = nullptr;
  // For a part: this rank's progress, which the guard of the whole comparison watches; nullptr: nobody does.
  RankProgress* progress = nullptr;
  // Above 0: a trial of so many steps of the run that the options describe. It leaves no files, evaluates only at its
  // end, and refuses what the run would refuse as it begins.
  std::int64_t trial_steps = 0;
  std::int64_t rollbacks = 0;  // how often the run went back to a checkpoint; this training begins from it
};

// Collective, with the same options on all ranks of `bare`. Trains, and leaves the files of --run-dir. Rank 0 prints
// the card, warnings and the result. Returns the totals, on all ranks. Throws Error.
RunSummary run_training(Transport& bare, const CommandLine& line, const OptionValues& values,
                        const TrainingContext& context = {});

}  // namespace eave
