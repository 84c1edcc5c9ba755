// Reads the model of a run, of a file or of a checkpoint, with all that is needed to compute with it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "app/resume/model_file.h"
#include "checkpoint/checkpoint_manifest.h"
#include "nn/graph.h"

namespace eave {

struct StoredModel {
  std::filesystem::path place;  // for messages
  ModelDescription description;
  Graph graph;
  ModelArenas arenas;
};

// Reads the model.safetensors of a run's directory, or a file. Throws as read_model_of, description_in and read_model.
StoredModel read_stored_model(const std::filesystem::path& run_or_file);

// Reads the consensus from the checkpoint of `step`, whose files the caller has verified. Throws Error: kUsage (of a
// program with eave.Averager, whose models have no names), kBadData.
StoredModel read_checkpointed_model(const std::filesystem::path& checkpoints, std::int64_t step);

// Whether eave.Averager or eave_save has written the checkpoint: it knows no samples, and no names of arrays.
bool is_of_averager(const Manifest& manifest);

}  // namespace eave
