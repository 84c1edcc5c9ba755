// Implements `eave checkpoint`: lists and verifies a run's checkpoints, and exports the model of one.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "app/commands/checkpoint_reading.h"
#include "app/commands/model_export.h"
#include "app/commands/stored_model.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/resume/checkpoint_location.h"
#include "app/resume/missing_model.h"
#include "base/files/user_path.h"
#include "base/formats/safetensors_parts.h"
#include "base/options/number_text.h"
#include "base/options/spelling.h"
#include "base/printable.h"
#include "checkpoint/checkpoint_directory.h"
#include "eave/check.h"
#include "report/text/terminal.h"
#include "train/saving/checkpoint_load.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kActions = "expected ls, verify or export, and a run directory";

struct CheckpointRequest {
  std::string action;
  fs::path run;
  OptionValues values;
  fs::path directory = {};  // the directory of its checkpoints
};

}  // namespace

CommandLine checkpoint_command_line() {
  CommandLine line(
      "usage: eave checkpoint ls RUN\n"
      "       eave checkpoint verify RUN [--step N]\n"
      "       eave checkpoint export RUN [--step N] --npy DIR | --safetensors FILE [--layout LAYOUT]\n\n"
      "Lists, verifies or exports the checkpoints of a run. ls lists them, and names those that lack a file or a part "
      "of one.\nverify reads every file of each checkpoint and the run's model.safetensors, and names damaged files. "
      "export writes the\nmodel of the newest complete checkpoint, as eave export does.");
  line.add_group("Choice of checkpoint",
                 {{"step", OptionType::kInteger, "", "use only the checkpoint of this step"},
                  {"checkpoint-dir", OptionType::kPath, "",
                   "directory of the run's checkpoints (default: the one in its config.json, else RUN/checkpoint)"}});
  line.add_group("Output of export", export_options());
  return line;
}

namespace {

bool is_option(const CommandLine& line, const std::string& word) {
  const std::size_t name = word.find_first_not_of('-');
  return name != std::string::npos && line.declared().entries().contains(word.substr(name, word.find('=') - name));
}

CheckpointRequest read_checkpoint_request(const CommandLine& line, const std::vector<std::string>& words) {
  const auto first = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with("-"); });
  const bool is_behind_dashes = words.size() > 1 && words[1] == "--";
  if (first - words.begin() < 2 && !is_behind_dashes) {
    // parse throws an error that names the option.
    if (first != words.end() && !is_option(line, *first)) line.parse({*first});
    throw Error(ExitCode::kUsage, std::string(kActions) + (first == words.end() ? "" : ", before options"));
  }
  const PathsAndValues found = read_first_path(line, {words.begin() + 1, words.end()}, "RUN", kActions);
  CheckpointRequest request{words[0], found.paths.front(), found.values};
  if (request.action == "export") {
    check_export(request.values);
    return request;
  }
  if (request.action != "ls" && request.action != "verify") {
    throw Error(ExitCode::kUsage, "no action '" + request.action + "'; " + kActions +
                                      did_you_mean(request.action, {"ls", "verify", "export"}));
  }
  for (const std::string option : {"step", "npy", "safetensors", "layout"}) {
    if (!request.values.given(option) || (option == "step" && request.action == "verify")) continue;
    throw Error(ExitCode::kUsage, "--" + option + " has no effect with " + request.action);
  }
  return request;
}

// If a person gave a run's directory of checkpoints, or one checkpoint, instead of the run: returns the run. Else "".
std::string run_around(const fs::path& given) {
  for (fs::path place = fs::absolute(given).lexically_normal(); place.has_relative_path();
       place = place.parent_path()) {
    std::error_code error;
    if (place.filename() == "checkpoint" && fs::is_directory(place, error)) return place.parent_path().string();
  }
  return "";
}

// The steps of the committed checkpoints, newest first.
std::vector<std::int64_t> steps_of(const CheckpointRequest& request) {
  std::vector<std::int64_t> steps = committed_steps(request.directory);
  std::ranges::reverse(steps);
  if (request.values.has("step")) {
    const std::int64_t step = request.values.integer("step", 1);
    std::erase_if(steps, [&](std::int64_t each) { return each != step; });
  }
  if (!steps.empty()) return steps;
  const std::string run = run_around(request.run);
  throw Error(ExitCode::kInputMissing,
              "no checkpoint in " + request.directory.string() +
                  (request.values.has("step") ? " of step " + request.values.text("step") : "") +
                  (run.empty() ? "; name the directory of a run that has saved one (its --run-dir)"
                               : "; give the run's directory instead: " + run));
}

std::uint64_t bytes_of(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const StoredFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

std::string samples_of(const Manifest& manifest) {
  return manifest.samples == 0 ? "-" : std::to_string(manifest.samples);
}

// Throws Error(kBadData) for damage that the manifest and the sizes of files show.
Manifest read_visible(const CheckpointRequest& request, std::int64_t step) {
  Manifest manifest = read_manifest(request.directory, step);
  for (const StoredFile& file : manifest.files) {
    const fs::path path = checkpoint_path(request.directory, step) / file.name;
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(path, error);
    if (error) throw Error(ExitCode::kBadData, path.string() + ": " + error.message());
    if (bytes != file.bytes) {
      throw Error(ExitCode::kBadData, path.string() + ": it has " + count_text(bytes, "byte") +
                                          ", and was written with " + std::to_string(file.bytes));
    }
  }
  return manifest;
}

[[noreturn]] void refuse_damaged(const CheckpointRequest& request, const std::string& steps) {
  throw Error(ExitCode::kBadData, "damaged checkpoints in " + request.directory.string() + ": of step " + steps);
}

constexpr const char* kRemoved = "removed meanwhile by the run, which keeps only the newest";

void list(const CheckpointRequest& request) {
  std::string damaged;
  const std::vector<std::int64_t> steps = steps_of(request);
  std::printf("%12s  %14s  %5s  %14s\n", "step", "samples", "ranks", "bytes");
  for (const std::int64_t step : steps) {
    Manifest manifest;
    const CheckpointReading reading =
        read_or_tell(request.directory, step, [&] { manifest = read_visible(request, step); });
    if (reading.was_removed) {
      std::printf("%12lld  %s\n", static_cast<long long>(step), kRemoved);
    } else if (reading.damage.empty()) {
      std::printf("%12lld  %14s  %5zu  %14llu\n", static_cast<long long>(step), samples_of(manifest).c_str(),
                  manifest.files.size(), static_cast<unsigned long long>(bytes_of(manifest)));
    } else {
      std::printf("%12lld  damaged: %s\n", static_cast<long long>(step), printable(reading.damage).c_str());
      damaged += (damaged.empty() ? "" : ", ") + std::to_string(step);
    }
  }
  if (!damaged.empty()) refuse_damaged(request, damaged);
}

CheckpointReading verify_step(const CheckpointRequest& request, std::int64_t step) {
  return read_or_tell(request.directory, step,
                      [&] { verify_checkpoint(request.directory, read_manifest(request.directory, step)); });
}

// Reads the model as `eave export` does. Returns false if it is damaged. A run that has not ended has no model.
bool verify_model(const fs::path& run) {
  const fs::path path = find_model(run);
  std::error_code error;
  if (!fs::is_directory(run, error) || !fs::exists(path, error)) return true;
  std::string state;
  bool is_whole = false;
  try {
    const SafetensorsFile file = is_safetensors_index(path) ? read_safetensors_parts(path) : read_safetensors(path);
    read_model(file, graph_of(description_in(file), path));
    state = file.metadata.contains(kArraysHash) ? "whole" : "readable; it has no hash that would show changed values";
    if (has_outdated_model(run)) state += "; the run has gone on since, and not ended";
    is_whole = true;
  } catch (const Error& failure) {
    state = failure.what();
  }
  std::printf("%s: %s\n", printable(path.filename().string()).c_str(), printable(state).c_str());
  return is_whole;
}

// Checks all checkpoints and returns the steps of damaged ones. Throws Error(kInputMissing) if none is left to check.
std::string verify_checkpoints(const CheckpointRequest& request) {
  std::string damaged;
  bool is_any_left = false;
  for (const std::int64_t step : steps_of(request)) {
    const CheckpointReading reading = verify_step(request, step);
    const std::string state = reading.was_removed ? kRemoved : reading.damage.empty() ? "whole" : reading.damage;
    std::printf("step %lld: %s\n", static_cast<long long>(step), printable(state).c_str());
    is_any_left |= !reading.was_removed;
    if (!reading.damage.empty()) damaged += (damaged.empty() ? "" : ", ") + std::to_string(step);
  }
  if (!is_any_left)
    throw Error(ExitCode::kInputMissing, "the run removed what was verified in " + request.directory.string() +
                                             "; try again, or keep more by --keep of eave train");
  return damaged;
}

void verify(const CheckpointRequest& request) {
  const bool is_model_whole = request.values.has("step") || verify_model(request.run);
  std::string damaged;
  if (is_model_whole || !committed_steps(request.directory).empty()) damaged = verify_checkpoints(request);
  if (!is_model_whole) {
    throw Error(ExitCode::kBadData, "damaged model " + find_model(request.run).string() +
                                        (damaged.empty() ? "" : ", and damaged checkpoints: of step " + damaged) +
                                        "; see the lines above. eave checkpoint export writes the model of the newest "
                                        "checkpoint that is whole");
  }
  if (!damaged.empty()) refuse_damaged(request, damaged);
}

struct ModelOfStep {
  std::int64_t step = 0;
  StoredModel model;
};

// Reads the model of the newest checkpoint that is whole. Nothing if the run removed one that was to be read.
std::optional<ModelOfStep> read_newest(const CheckpointRequest& request) {
  std::string damage;
  for (const std::int64_t step : steps_of(request)) {
    const CheckpointReading verified = verify_step(request, step);
    if (verified.was_removed) return {};
    if (!verified.damage.empty()) {
      print_warning("a newer checkpoint is passed over: " + verified.damage);
      damage = verified.damage;
      continue;
    }
    ModelOfStep found{step, {}};
    const CheckpointReading reading =
        read_or_tell(request.directory, step, [&] { found.model = read_checkpointed_model(request.directory, step); });
    if (reading.was_removed) return {};
    if (!reading.damage.empty()) throw Error(ExitCode::kBadData, reading.damage);
    return found;
  }
  throw Error(ExitCode::kBadData, "no checkpoint in " + request.directory.string() + " is whole; " + damage);
}

void export_newest(const CheckpointRequest& request) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    if (const std::optional<ModelOfStep> found = read_newest(request)) {
      const StoredModel& model = found->model;
      return export_model(model.description, model.graph, model.arenas, request.values,
                          "step " + std::to_string(found->step) + ": ");
    }
  }
  throw Error(ExitCode::kInputMissing, "the run replaces its checkpoints in " + request.directory.string() +
                                           " before they can be read; keep more by --keep of eave train");
}

}  // namespace

int checkpoint_command(const std::vector<std::string>& words, const char* const*) {
  const auto run = [](CheckpointRequest& request) {
    if (const std::string model = describe_model_without_run(request.run); !model.empty())
      throw Error(ExitCode::kUsage, model + ", and only runs have checkpoints; name the directory of a run");
    request.directory = find_checkpoints_of(request.run, request.values.text("checkpoint-dir"));
    if (request.action == "ls") return list(request);
    if (request.action == "verify") return verify(request);
    export_newest(request);
  };
  return run_request(checkpoint_command_line(), words, read_checkpoint_request, run);
}

}  // namespace eave
