#include <cstdio>
#include <filesystem>

#include "app/command_line.h"
#include "app/commands.h"
#include "app/launch.h"
#include "app/model_file.h"
#include "base/npy.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

CommandLine export_line() {
  CommandLine line(
      "usage: eave export MODEL --npy DIR | --safetensors FILE [--layout LAYOUT]\n\n"
      "Writes the model of a run for other programs. MODEL is a run directory, or a model.safetensors.");
  line.add_group(
      "What is written",
      {{"npy", OptionType::kText, "", "a new directory with a file for each array, for numpy.load"},
       {"safetensors", OptionType::kText, "", "a new file with all arrays"},
       {"layout",
        OptionType::kText,
        "pytorch",
        "pytorch: names, shapes and order of inputs as PyTorch's modules have them, for images NCHW; eave: as in "
        "model.safetensors, for images NHWC",
        {"pytorch", "eave"}}});
  return line;
}

// A model text in a file is as little to be trusted as the rest of it.
Graph graph_of(const SafetensorsFile& file, const ModelDescription& model) {
  try {
    return build_graph(model.specification, model.image, model.classes);
  } catch (const Error& error) {
    throw Error(ExitCode::kBadData, file.path + ": its model cannot be built: " + error.what());
  }
}

void refuse_existing(const fs::path& path, const std::string& option) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  throw Error(ExitCode::kCannotCreate, option + " " + path.string() + " is there already; name another one");
}

void write_arrays(const fs::path& directory, const std::vector<NamedArray>& arrays) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    throw Error(ExitCode::kCannotCreate, "--npy " + directory.string() + " cannot be created: " + error.message());
  }
  for (const NamedArray& array : arrays) write_npy(directory / (array.name + ".npy"), array);
}

void export_model(const std::string& from, const OptionValues& values) {
  const bool as_npy = values.has("npy");
  const fs::path target = values.text(as_npy ? "npy" : "safetensors");
  const TensorLayout layout = values.text("layout") == "eave" ? TensorLayout::kEave : TensorLayout::kPytorch;
  refuse_existing(target, as_npy ? "--npy" : "--safetensors");
  const SafetensorsFile file = read_safetensors(find_model(from));
  const ModelDescription model = description_in(file);
  const Graph graph = graph_of(file, model);
  const ModelArenas arenas = read_model(file, graph);
  if (as_npy) {
    write_arrays(target, model_arrays(graph, layout, arenas.parameters, arenas.statistics).arrays);
  } else {
    write_model(target, model, layout, arenas.parameters, arenas.statistics);
  }
  std::printf("wrote %s, %zu arrays, layout %s\n", target.c_str(), file.arrays.size(), values.text("layout").c_str());
}

}  // namespace

int export_command(const std::vector<std::string>& words, const char* const*) {
  const CommandLine line = export_line();
  if (asks_for_help(words)) return run_once("export --help", [&] { std::fputs(line.help().c_str(), stdout); });
  OptionValues values;
  std::string from;
  try {
    if (words.empty() || words[0].starts_with("-"))
      throw Error(ExitCode::kUsage, "no model given; expected MODEL --npy DIR or MODEL --safetensors FILE");
    from = words[0];
    const char* const no_environment[] = {nullptr};  // EAVE_* are settings of a training
    values = line.parse({words.begin() + 1, words.end()}, no_environment);
    if (values.has("npy") == values.has("safetensors"))
      throw Error(ExitCode::kUsage, "expected one of --npy DIR and --safetensors FILE, not both");
  } catch (const Error&) {
    return refuse_to_run(std::current_exception());
  }
  return run_once("export", [&] { export_model(from, values); });
}

}  // namespace eave
