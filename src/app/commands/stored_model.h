// Reads the model of a run, of a file or of a checkpoint, with all that is needed to compute with it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "app/resume/model_file.h"
#include "checkpoint/checkpoint_manifest.h"
#include "eave/options.h"
#include "nn/graph.h"

namespace eave {

// The graph of a model described in a file. The description is not trusted: if no graph can be built from it, throws
// Error(kBadData), which names the file.
Graph graph_of(const ModelDescription& model, const std::filesystem::path& file);

struct StoredModel {
  std::filesystem::path place;  // for messages
  ModelDescription description;
  Graph graph;
  ModelArenas arenas;
  bool is_of_huggingface = false;  // by the names of its arrays; a config.json beside it is not of a run
};

// Reads the model.safetensors of a run's directory, a file, or a folder that save_pretrained of transformers wrote.
// Throws as read_model_of, description_in, describe_huggingface_model and read_model.
StoredModel read_stored_model(const std::filesystem::path& run_or_file);

// Reads the consensus from the checkpoint of `step`, whose files the caller has verified. Throws Error: kUsage (of a
// program with eave.Averager, whose models have no names), kBadData.
StoredModel read_checkpointed_model(const std::filesystem::path& checkpoints, std::int64_t step);

// If `place` holds a model but no run, and so no checkpoints, says what it is: a file, or a folder of transformers. ""
// otherwise.
std::string describe_model_without_run(const std::filesystem::path& place);

// Reads the consensus from a checkpoint of the run, after all of its files are verified. `values` has --step, a number
// or "last", and --checkpoint-dir. Throws Error: kUsage (`run` is a model without a run), kInputMissing (there is no
// such checkpoint), kBadData (it is damaged), and as read_checkpointed_model and find_checkpoints_of.
StoredModel read_model_of_step(const std::filesystem::path& run, const OptionValues& values);

// Whether eave.Averager or eave_save has written the checkpoint: it knows no samples, and no names of arrays.
bool is_of_averager(const Manifest& manifest);

}  // namespace eave
