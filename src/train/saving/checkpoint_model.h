// Reads the model in a checkpoint without a training run.
#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/checkpoint_manifest.h"
#include "eave/model.h"

namespace eave {

// Reads all files of the checkpoint and checks each against the manifest. Throws Error(kBadData).
void verify_checkpoint(const std::filesystem::path& directory, const Manifest& manifest);

struct CheckpointModel {
  std::vector<float> parameters;  // the consensus
  // The batch-norm statistics with which the consensus is evaluated. If the run measures them anew (kRecompute), these
  // are the average instead.
  std::vector<float> statistics;
};

// `statistics` lists the model's statistics tensors, in pairs of mean and variance. If it is empty, the statistics are
// those of rank 0. Throws Error(kBadData).
CheckpointModel read_checkpoint_model(const std::filesystem::path& directory, const Manifest& manifest,
                                      const std::vector<TensorInfo>& statistics);

}  // namespace eave
