// Checkpoints: when they are saved, and the progress of a run that is stored in them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace eave {

// When and where checkpoints are saved. One is saved after each evaluation, and in between as `every_…` says. Training
// goes on while a thread writes a copy of the state.
struct CheckpointPlan {
  std::string directory;  // "" if no checkpoints are saved
  bool is_named = false;  // a person named the directory, so it may be a symbolic link; otherwise a link is refused
  // The ranks that cannot see rank 0's directory, ascending. Rank 0 writes and reads their files.
  std::vector<int> ranks_without_access = {};
  std::int64_t every_steps = 0;  // a checkpoint after this many steps; 0 = off
  double every_seconds = 0;      // a checkpoint after this time, by rank 0's clock; 0 = off
  std::int64_t kept = 3;         // newest checkpoints to keep; --keep and save(keep=) have the same default
  std::int64_t keep_every = 0;   // also keeps those after a multiple of this many steps; 0 = off
  // True: if a checkpoint cannot be written, the run ends with AgreedError(kInputOutput). False: rank 0 gets a warning.
  bool is_required = false;
  std::map<std::string, std::string> notes = {};  // stored in the manifest
};

// Sums over steps that are done but not yet in a StepRecord. The next StepRecord will include them.
struct UnrecordedSteps {
  double loss_sum = 0;
  std::int64_t samples = 0;  // of this rank
  double seconds = 0, loading = 0, waiting = 0, exchanging = 0;
  std::int64_t bytes = 0;
  std::int64_t nonfinite = 0;
};

// The progress of a run since its beginning, over all resumptions.
struct TrainingProgress {
  std::int64_t steps = 0;
  std::int64_t samples = 0;             // samples seen by all ranks
  double seconds = 0;                   // this rank's training time, without evaluations
  double waiting = 0;                   // seconds for which this rank was blocked on other ranks while training
  std::int64_t bytes = 0;               // bytes sent by this rank while training
  std::int64_t nonfinite = 0;           // steps of this rank that were left out, in whole or in part
  std::int64_t nonfinite_in_a_row = 0;  // how many of the last steps were left out, without a whole step in between
  std::int64_t repaired = 0;            // times that replicas were repaired; equal on all ranks
  UnrecordedSteps unrecorded = {};
};

}  // namespace eave
