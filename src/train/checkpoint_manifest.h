// manifest.json of a checkpoint: what it is of, and every rank's file with its size and hash. Its last line holds the
// hash of all before it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoint_format.h"

namespace eave {

// Notes: how many ranks trained; of how many the batch-norm statistics are merged, 1 or all that trained; and, where
// the run ended there before its steps were done, what it had reached (to_text in train/budget.h).
constexpr const char* kWorkers = "workers";
constexpr const char* kStatistics = "statistics of ranks";
constexpr const char* kEnded = "ended";

struct Manifest {
  std::int64_t step = 0;
  std::int64_t samples = 0;                       // seen by all ranks
  std::map<std::string, std::string> identity{};  // what must be the same in a run that goes on from here
  std::map<std::string, std::string> notes{};     // CheckpointPlan::notes, and those above
  std::vector<StoredFile> files{};                // of every rank, in rank order
};

// One of these numbers: at least one, and no more than there are files.
int count_in(const Manifest& manifest, const char* note);

Hash128 configuration_of(const std::map<std::string, std::string>& identity);

std::string encode_manifest(const Manifest& manifest);
// Throws Error(kBadData), without the file's name.
Manifest parse_manifest(std::string_view text);

}  // namespace eave
