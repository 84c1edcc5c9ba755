// Writes the states of an Averager's ranks to bytes that each rank keeps by itself, or to a checkpoint
// (src/checkpoint/CHECKPOINTS.md), and reads them. All functions are collective, and throw on all ranks alike.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/output_file.h"
#include "c/state/averager_state.h"
#include "c/state/save_lock.h"
#include "eave/transport.h"

namespace eave {

// Returns this rank's state as bytes: "EAVERANK", version and rank (u32 each), the length of the manifest (u64), the
// manifest of all ranks, this rank's file as in a checkpoint. Numbers are little-endian.
std::string pack_state(Transport& transport, const StateToSave& state);
// Reads such bytes: this rank's own, or if the number of ranks has changed, those of all ranks that saved. Throws
// AgreedError: kUsage if one is missing on a rank; kBadData if one is damaged; kConfiguration if they were not saved
// together.
SavedStates unpack_states(Transport& transport, const std::vector<std::string_view>& states);

// Writes a checkpoint below `directory`, and keeps the newest `kept`. Rank 0 takes `lock` first. Ranks that do not see
// rank 0's directory send their files to rank 0. When it returns, the checkpoint is complete and on the disk. Throws
// AgreedError: kUsage as SaveLock::require_own; kCannotCreate, kInputOutput.
void save_checkpoint(Transport& transport, const std::filesystem::path& directory, const StateToSave& state,
                     std::int64_t kept, SaveLock& lock, FileCalls& calls = system_file_calls());
// Reads the newest checkpoint that is whole; nullopt if there is none. Throws AgreedError(kBadData) if there are
// checkpoints and none is whole.
std::optional<SavedStates> load_states(Transport& transport, const std::filesystem::path& directory);

}  // namespace eave
