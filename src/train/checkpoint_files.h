// The files of one checkpoint, for all ranks: those that do not see it get theirs through rank 0. Everything is
// collective, and throws on all ranks alike where it fails on one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "eave/transport.h"
#include "train/checkpoint_manifest.h"

namespace eave {

Manifest read_manifest_on_all(Transport& transport, const std::vector<int>& blind,
                              const std::filesystem::path& directory, std::int64_t step);

class CheckpointFiles {
 public:
  // All outlive it.
  CheckpointFiles(Transport& transport, const std::vector<int>& blind, const std::filesystem::path& directory,
                  const Manifest& manifest)
      : transport_(transport), blind_(blind), directory_(directory), manifest_(manifest) {}

  // As read_rank: the file of rank `file` of the run that saved, another one on each rank; -1: none.
  CheckpointHeader read(int file, std::vector<float>* body);
  // Of all files, in rank order. Rank 0 reads them.
  std::vector<CheckpointHeader> headers();

 private:
  Transport& transport_;
  const std::vector<int>& blind_;
  const std::filesystem::path& directory_;
  const Manifest& manifest_;
};

}  // namespace eave
