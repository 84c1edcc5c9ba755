// --resume: what a training goes on from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "eave/options.h"
#include "eave/transport.h"
#include "train/checkpoint_load.h"

namespace eave {

struct Resumption {
  FoundCheckpoint found;
  bool is_elastic = false;                         // it is of another number of ranks
  bool has_ended = false;                          // the run's results are there
  std::vector<int> blind_ranks = {};               // as CheckpointPlan's
  std::map<std::string, std::string> config = {};  // of its config.json, what says how long the run was to be
};

inline bool may_resume(const OptionValues& values) { return values.text("resume") != "off"; }
// Where there is nothing to go on from: a command that can be given again and again.
inline bool may_begin_anew(const OptionValues& values) {
  return values.text("resume") == "auto" || values.text("resume") == "elastic";
}

// Collective: find_checkpoint for the run in a directory that some ranks may not see; these are put into `blind`.
std::optional<FoundCheckpoint> find_checkpoint_of_run(Transport& transport, const OptionValues& values,
                                                      std::vector<int>& blind);

// Collective. Nothing: the training begins anew. Throws AgreedError where there is no checkpoint: kInputMissing where
// it must go on or a run has ended there, kDiverged where one has diverged; kBadData where none is whole.
std::optional<Resumption> find_resumption(Transport& transport, const OptionValues& values);

// Collective: with --resume auto or elastic, whether the run was trained to the end that is asked for. Rank 0 says so.
bool has_nothing_to_do(Transport& transport, const CommandLine& line, const OptionValues& values);

}  // namespace eave
