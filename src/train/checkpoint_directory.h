// Checkpoints on the disk: DIR/step-000123/ with rank-0.state … and manifest.json. One that is being written is
// DIR/step-000123.partial/; it gets its name when all of it is on the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/output_path.h"
#include "train/checkpoint_manifest.h"

namespace eave {

std::filesystem::path checkpoint_place(const std::filesystem::path& directory, std::int64_t step);
std::filesystem::path partial_place(const std::filesystem::path& directory, std::int64_t step);
std::string rank_file_name(int rank);
OutputFolder partial_folder(const OutputFolder& directory, std::int64_t step);  // to write to: partial_place

// Steps that have a directory, which may be damaged; ascending. None where `directory` is missing.
std::vector<std::int64_t> committed_steps(const std::filesystem::path& directory);

// All files of the partial one are on the disk. Afterwards it is committed, and stays so when the power goes. Throws
// Error: kCannotCreate, kInputOutput.
void commit_checkpoint(const OutputFolder& directory, const Manifest& manifest, FileCalls& calls);

// After the commit of `newest`: what is neither among the newest `kept` nor after a multiple of `keep_every` steps
// goes, and what is after a later step: it was passed over when the run went on. What cannot be removed is left.
void remove_old_checkpoints(const OutputFolder& directory, std::int64_t newest, std::int64_t kept,
                            std::int64_t keep_every, FileCalls& calls);
// A run may end just when one of the same step was replaced, and the new one had not its name yet: the old one has it
// again. What cannot be renamed is left.
void put_back_replaced_checkpoints(const OutputFolder& directory, FileCalls& calls);
// What a run that ended while it wrote has left. What is no directory goes too: a link, not its target.
void remove_partial_checkpoints(const OutputFolder& directory, FileCalls& calls);

// Throws Error(kBadData) naming the file and what is wrong with it, kInputMissing.
Manifest read_manifest(const std::filesystem::path& directory, std::int64_t step);
// The file of one rank, held against the manifest; as read_checkpoint_file. Throws Error(kBadData), also where it is
// missing.
CheckpointHeader read_rank(const std::filesystem::path& directory, const Manifest& manifest, int rank,
                           std::vector<float>* body, ByteStream* source = nullptr);

}  // namespace eave
