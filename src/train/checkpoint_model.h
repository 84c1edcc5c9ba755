// The model in a checkpoint, without a run.
#pragma once

#include <filesystem>
#include <vector>

#include "eave/model.h"
#include "train/checkpoint_manifest.h"

namespace eave {

// All files of it, each held against the manifest. Throws Error(kBadData).
void verify_checkpoint(const std::filesystem::path& directory, const Manifest& manifest);

struct CheckpointModel {
  std::vector<float> parameters;  // the consensus
  std::vector<float> statistics;  // of batch norm, as that model is evaluated; averaged where they would be measured
};

// `statistics`: the places of the model's, in pairs of mean and variance. Throws Error(kBadData).
CheckpointModel read_checkpoint_model(const std::filesystem::path& directory, const Manifest& manifest,
                                      const std::vector<TensorInfo>& statistics);

}  // namespace eave
