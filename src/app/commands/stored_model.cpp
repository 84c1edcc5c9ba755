#include "app/commands/stored_model.h"

#include <utility>

#include "app/commands/model_export.h"
#include "checkpoint/checkpoint_directory.h"
#include "eave/check.h"
#include "train/saving/checkpoint_load.h"

namespace eave {

StoredModel read_stored_model(const std::filesystem::path& run_or_file) {
  const SafetensorsFile file = read_model_of(run_or_file);
  StoredModel model{file.path, description_in(file), {}, {}};
  model.graph = graph_of(model.description, model.place);
  model.arenas = read_model(file, model.graph);
  return model;
}

StoredModel read_checkpointed_model(const std::filesystem::path& checkpoints, std::int64_t step) {
  const std::filesystem::path place = checkpoint_path(checkpoints, step);
  const Manifest manifest = read_manifest(checkpoints, step);
  if (is_of_averager(manifest)) {
    throw Error(ExitCode::kUsage,
                place.string() +
                    " is of a program with eave.Averager, whose model has no names here: let the program "
                    "export it, by averager.load(run_dir) and then torch.save(model.state_dict(), file) within "
                    "averager.consensus()");
  }
  StoredModel model{place, description_in(manifest.notes, place), {}, {}};
  model.graph = graph_of(model.description, place);
  CheckpointModel saved = read_checkpoint_model(checkpoints, manifest, model.graph.statistics);
  if (std::ssize(saved.parameters) != model.graph.parameter_size ||
      std::ssize(saved.statistics) != model.graph.statistics_size)
    throw Error(ExitCode::kBadData, place.string() + ": its vectors are not of the model that it names");
  model.arenas = {std::move(saved.parameters), std::move(saved.statistics)};
  return model;
}

bool is_of_averager(const Manifest& manifest) {
  return manifest.identity.contains("communicator") && !manifest.notes.contains("model");
}

}  // namespace eave
