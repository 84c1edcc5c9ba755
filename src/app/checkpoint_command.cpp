#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/command_line.h"
#include "app/commands.h"
#include "app/launch.h"
#include "app/model_export.h"
#include "eave/check.h"
#include "report/terminal.h"
#include "train/checkpoint_directory.h"
#include "train/checkpoint_model.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kActions = "expected ls, verify or export, and a run directory";

struct Request {
  std::string action;
  fs::path directory;  // that holds the checkpoints
  OptionValues values;
};

CommandLine command_line() {
  CommandLine line(
      "usage: eave checkpoint ls RUN\n"
      "       eave checkpoint verify RUN [--step N]\n"
      "       eave checkpoint export RUN [--step N] --npy DIR | --safetensors FILE [--layout LAYOUT]\n\n"
      "Looks at the checkpoints of a run. verify reads all of each and names what is damaged; export writes the model\n"
      "of the newest that is whole, as eave export does.");
  line.add_group("Which checkpoint", {{"step", OptionType::kInteger, "", "that of this step alone"}});
  line.add_group("What export writes", export_options());
  return line;
}

Request read_request(const CommandLine& line, const std::vector<std::string>& words) {
  if (words.size() < 2 || words[1].starts_with("-")) throw Error(ExitCode::kUsage, kActions);
  Request request{words[0], fs::path(words[1]) / "checkpoint", line.parse({words.begin() + 2, words.end()})};
  if (request.action == "export") {
    check_export(request.values);
    return request;
  }
  if (request.action != "ls" && request.action != "verify") {
    throw Error(ExitCode::kUsage, "no action '" + request.action + "'; " + kActions);
  }
  for (const std::string option : {"step", "npy", "safetensors", "layout"}) {
    if (!request.values.given(option) || (option == "step" && request.action == "verify")) continue;
    throw Error(ExitCode::kUsage, "--" + option + " has no effect with " + request.action);
  }
  return request;
}

// Newest first.
std::vector<std::int64_t> steps_of(const Request& request) {
  std::vector<std::int64_t> steps = committed_steps(request.directory);
  std::ranges::reverse(steps);
  if (request.values.has("step")) {
    const std::int64_t step = request.values.integer("step", 1);
    std::erase_if(steps, [&](std::int64_t each) { return each != step; });
  }
  if (!steps.empty()) return steps;
  throw Error(ExitCode::kInputMissing,
              "no checkpoint in " + request.directory.string() +
                  (request.values.has("step") ? " of step " + request.values.text("step") : ""));
}

std::uint64_t bytes_of(const Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const StoredFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

void list(const Request& request) {
  std::printf("%12s  %14s  %5s  %14s\n", "step", "samples", "ranks", "bytes");
  for (const std::int64_t step : steps_of(request)) {
    try {
      const Manifest manifest = read_manifest(request.directory, step);
      std::printf("%12lld  %14lld  %5zu  %14llu\n", static_cast<long long>(step),
                  static_cast<long long>(manifest.samples), manifest.files.size(),
                  static_cast<unsigned long long>(bytes_of(manifest)));
    } catch (const Error& error) {
      std::printf("%12lld  damaged: %s\n", static_cast<long long>(step), error.what());
    }
  }
}

// "": it is whole.
std::string damage_of(const Request& request, std::int64_t step) {
  try {
    verify_checkpoint(request.directory, read_manifest(request.directory, step));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void verify(const Request& request) {
  std::string damaged;
  for (const std::int64_t step : steps_of(request)) {
    const std::string damage = damage_of(request, step);
    std::printf("step %lld: %s\n", static_cast<long long>(step), damage.empty() ? "whole" : damage.c_str());
    if (!damage.empty()) damaged += (damaged.empty() ? "" : ", ") + std::to_string(step);
  }
  if (damaged.empty()) return;
  throw Error(ExitCode::kBadData, "damaged checkpoints in " + request.directory.string() + ": of step " + damaged);
}

void check_sizes(const CheckpointModel& model, const Graph& graph, const fs::path& place) {
  if (std::ssize(model.parameters) == graph.parameter_size && std::ssize(model.statistics) == graph.statistics_size)
    return;
  throw Error(ExitCode::kBadData, place.string() + ": its vectors are not of the model that it names");
}

void export_newest(const Request& request) {
  std::string damage;
  for (const std::int64_t step : steps_of(request)) {
    const std::string of_this = damage_of(request, step);
    if (!of_this.empty()) {
      std::fprintf(stderr, "eave: warning: a newer checkpoint is passed over: %s\n", of_this.c_str());
      damage = of_this;
      continue;
    }
    const fs::path place = checkpoint_place(request.directory, step);
    const Manifest manifest = read_manifest(request.directory, step);
    const ModelDescription description = description_in(manifest.notes, place);
    const Graph graph = graph_of(description, place);
    const CheckpointModel model = read_checkpoint_model(request.directory, manifest, graph.statistics);
    check_sizes(model, graph, place);
    std::printf("step %lld: ", static_cast<long long>(step));
    return export_model(description, graph, {model.parameters, model.statistics}, request.values);
  }
  throw Error(ExitCode::kBadData, "no checkpoint in " + request.directory.string() + " is whole; " + damage);
}

}  // namespace

int checkpoint_command(const std::vector<std::string>& words, const char* const*) {
  const CommandLine line = command_line();
  Request request;
  const auto run = [&] {
    if (request.action == "ls") return list(request);
    if (request.action == "verify") return verify(request);
    export_newest(request);
  };
  return run_command(
      "checkpoint", words, line.help(), [&] { request = read_request(line, words); },
      [&] { return run_once("checkpoint " + request.action, run); });
}

}  // namespace eave
