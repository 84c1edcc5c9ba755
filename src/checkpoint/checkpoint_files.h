// The files of one checkpoint, read by all ranks. Ranks without access (checkpoint/checkpoint_transfer.h) get theirs
// through rank 0. Every function here is collective, and throws on all ranks alike if it fails on one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "checkpoint/checkpoint_manifest.h"
#include "checkpoint/rank_state.h"
#include "eave/transport.h"

namespace eave {

Manifest read_manifest_on_all(Transport& transport, const std::vector<int>& without_access,
                              const std::filesystem::path& directory, std::int64_t step);

class CheckpointFiles {
 public:
  // All arguments outlive this object.
  CheckpointFiles(Transport& transport, const std::vector<int>& without_access, const std::filesystem::path& directory,
                  const Manifest& manifest)
      : transport_(transport), without_access_(without_access), directory_(directory), manifest_(manifest) {}

  // Reads a file as read_rank does. `file` is a rank of the run that saved, a different one on each rank; -1 reads
  // none.
  SavedRank read(int file);
  // The headers of all files, in rank order. Rank 0 reads and checks the files.
  std::vector<CheckpointHeader> headers();

 private:
  Transport& transport_;
  const std::vector<int>& without_access_;
  const std::filesystem::path& directory_;
  const Manifest& manifest_;
};

}  // namespace eave
