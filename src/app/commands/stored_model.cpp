#include "app/commands/stored_model.h"

#include <algorithm>
#include <utility>

#include "app/resume/checkpoint_location.h"
#include "app/resume/huggingface_model.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "checkpoint/checkpoint_directory.h"
#include "eave/check.h"
#include "train/saving/checkpoint_load.h"

namespace eave {

Graph graph_of(const ModelDescription& model, const std::filesystem::path& file) {
  try {
    return build_graph(model.specification, model.image, model.classes);
  } catch (const Error& error) {
    throw with_front(file.string() + ": its model cannot be built; get the file again, or name another one: ", error,
                     ExitCode::kBadData);
  }
}

StoredModel read_stored_model(const std::filesystem::path& run_or_file) {
  const SafetensorsFile file = read_model_of(run_or_file);
  const bool is_described_beside =
      !file.metadata.contains("model") &&
      (is_of_huggingface(file) || is_folder_of_transformers(std::filesystem::path(file.path).parent_path()));
  StoredModel model{
      file.path, is_described_beside ? describe_huggingface_model(file.path) : description_in(file), {}, {}};
  model.is_of_huggingface = is_of_huggingface(file);
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
    throw Error(ExitCode::kBadData, place.string() + ": the sizes of its arrays do not fit the model that it names");
  model.arenas = {std::move(saved.parameters), std::move(saved.statistics)};
  return model;
}

std::string describe_model_without_run(const std::filesystem::path& place) {
  std::error_code error;
  if (std::filesystem::exists(place, error) && !std::filesystem::is_directory(place, error))
    return place.string() + " is a file";
  return is_folder_of_transformers(place) ? place.string() + " is a model of Hugging Face's transformers" : "";
}

namespace {

std::int64_t step_in(const OptionValues& values) {
  const Reading<std::int64_t> step = read_integer(values.text("step"));
  if (!step.value || *step.value < 1) refuse_option(values, "step", "expected last, or a whole number from 1");
  return *step.value;
}

// The step that --step names: that of a checkpoint in `directory`.
std::int64_t find_step(const std::filesystem::path& run, const std::filesystem::path& directory,
                       const OptionValues& values) {
  const std::string& word = values.text("step");
  const std::vector<std::int64_t> steps = committed_steps(directory);
  if (steps.empty()) {
    throw Error(ExitCode::kInputMissing,
                "--step " + word + ": no checkpoint in " + directory.string() + "; name a run that has saved one");
  }
  const std::int64_t step = word == "last" ? *std::ranges::max_element(steps) : step_in(values);
  if (std::ranges::find(steps, step) == steps.end()) {
    throw Error(ExitCode::kInputMissing, "--step " + word + ": no such checkpoint in " + directory.string() +
                                             "; eave checkpoint ls " + run.string() + " lists them");
  }
  return step;
}

bool was_removed(const std::filesystem::path& directory, std::int64_t step) {
  const std::vector<std::int64_t> steps = committed_steps(directory);
  return std::ranges::find(steps, step) == steps.end();
}

}  // namespace

StoredModel read_model_of_step(const std::filesystem::path& run, const OptionValues& values) {
  constexpr int kMostTries = 20;  // a run that goes on may remove the checkpoint that was the last one
  if (const std::string model = describe_model_without_run(run); !model.empty())
    refuse_option(values, "step", "is for run directories, and " + model + "; leave --step out");
  const std::filesystem::path directory = find_checkpoints_of(run, values.text("checkpoint-dir"));
  for (int tried = 1;; ++tried) {
    const std::int64_t step = find_step(run, directory, values);
    try {
      verify_checkpoint(directory, read_manifest(directory, step));
      return read_checkpointed_model(directory, step);
    } catch (const Error&) {
      if (values.text("step") != "last" || tried == kMostTries || !was_removed(directory, step)) throw;
    }
  }
}

bool is_of_averager(const Manifest& manifest) {
  return manifest.identity.contains("communicator") && !manifest.notes.contains("model");
}

}  // namespace eave
