// Checkpoints on the disk: DIR/step-000123/ holds rank-0.state, rank-1.state, … and manifest.json. A checkpoint that is
// being written is DIR/step-000123.partial/. It is renamed ("committed") when all its files are on the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files/output_path.h"
#include "checkpoint/checkpoint_manifest.h"

namespace eave {

std::filesystem::path checkpoint_path(const std::filesystem::path& directory, std::int64_t step);
std::string rank_file_name(int rank);
// The directory in which a checkpoint is written before it is committed.
OutputFolder partial_folder(const OutputFolder& directory, std::int64_t step);

// Steps that have an entry with the name of a committed checkpoint, ascending. Its files may be damaged, and it may be
// a symbolic link, which read_manifest refuses. Empty if `directory` is missing.
std::vector<std::int64_t> committed_steps(const std::filesystem::path& directory);

// Writes the manifest and commits the checkpoint. The caller has written and flushed all files of the ranks. When this
// returns, the checkpoint survives a loss of power. Throws Error: kCannotCreate, kInputOutput.
void commit_checkpoint(const OutputFolder& directory, const Manifest& manifest, FileCalls& calls);

// Call after the commit of `newest`. Keeps the newest `kept` checkpoints, and those after a multiple of `keep_every`
// steps (0: none). Removes all others, and those of steps after `newest`: an earlier run wrote them, and this run
// passed them over when it resumed. A checkpoint that cannot be removed
// stays, and so does a symbolic link.
void remove_old_checkpoints(const OutputFolder& directory, std::int64_t newest, std::int64_t kept,
                            std::int64_t keep_every, FileCalls& calls);
// A run may end while it replaces a checkpoint of the same step, when neither the old nor the new one has the name.
// This gives the old one its name again. A directory that cannot be renamed stays as it is.
void put_back_replaced_checkpoints(const OutputFolder& directory, FileCalls& calls);
// Removes the partial checkpoints of a run that ended while it wrote. A symbolic link of such a name is removed, its
// target is not.
void remove_partial_checkpoints(const OutputFolder& directory, FileCalls& calls);

// Throws Error: kBadData, with the file and what is wrong with it; kInputMissing.
Manifest read_manifest(const std::filesystem::path& directory, std::int64_t step);
// Reads the file of one rank and checks it against the manifest. `body` and `source` are as in read_checkpoint_file.
// Throws Error(kBadData), also if the file is missing.
CheckpointHeader read_rank(const std::filesystem::path& directory, const Manifest& manifest, int rank,
                           std::vector<float>* body, ByteStream* source = nullptr);

}  // namespace eave
