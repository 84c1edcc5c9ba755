// manifest.json of a checkpoint: the run it belongs to, and every rank's file with its size and hash. Its last line
// holds the hash of all lines before it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_format.h"

namespace eave {

// Keys of Manifest::notes:
// - kWorkers: how many ranks trained
// - kStatistics: how many ranks' batch-norm statistics a reader merges, 1 or all that trained
// - kSinceAverage: the steps since the moving average had moved, if its run was resumed on another number of ranks and
// the number of the step does not tell
// - kEnded: if the run ended here before its last step, what it had reached (to_text in train/loop/budget.h)
// - kSettings: the settings of eave train that a run may not change, as JSON; checkpoints from before 2026-11-30 lack
// it
constexpr const char* kWorkers = "workers";
constexpr const char* kStatistics = "statistics of ranks";
constexpr const char* kSinceAverage = "steps since the average moved";
constexpr const char* kEnded = "ended";
constexpr const char* kSettings = "settings";

struct Manifest {
  std::int64_t step = 0;
  std::int64_t samples = 0;  // seen by all ranks together
  // Must be the same in a run that resumes from here.
  std::map<std::string, std::string> identity{};
  std::map<std::string, std::string> notes{};  // CheckpointPlan::notes, and the keys above
  std::vector<StoredFile> files{};             // one per rank, in rank order
};

// The number in a note, kWorkers or kStatistics, kept within 1 and the number of files; 1 if there is no such note.
int count_in(const Manifest& manifest, const char* note);

// The number in a note, whatever it is; nothing if there is no such note.
std::optional<std::int64_t> number_in(const Manifest& manifest, const char* note);

Hash128 configuration_of(const std::map<std::string, std::string>& identity);

std::string encode_manifest(const Manifest& manifest);
// Throws Error(kBadData). The message does not name the file.
Manifest parse_manifest(std::string_view text);

}  // namespace eave
