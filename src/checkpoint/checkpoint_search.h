// Finds the newest checkpoint that is whole.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_manifest.h"
#include "eave/transport.h"

namespace eave {

struct FoundCheckpoint {
  Manifest manifest;
  std::vector<std::string> passed_over;  // damaged newer checkpoints, each with what is wrong
};

// Collective. Returns the newest checkpoint whose files are all as they were written; nothing if there is no
// checkpoint. Each rank that sees the files checks its share of them. No run may be writing in `directory`. A
// checkpoint that was being replaced when its run ended gets its name again. `without_access` is as
// CheckpointPlan::ranks_without_access. Throws AgreedError(kBadData) if there are checkpoints and none is whole; its
// message ends with `otherwise`: what to do then.
std::optional<FoundCheckpoint> find_checkpoint(Transport& transport, const std::filesystem::path& directory,
                                               const std::vector<int>& without_access = {},
                                               const std::string& otherwise = "begin anew in another directory");

}  // namespace eave
