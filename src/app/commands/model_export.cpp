#include "app/commands/model_export.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/main/command_line.h"
#include "app/options/shared_options.h"
#include "app/resume/huggingface_model.h"
#include "base/files/file_errors.h"
#include "base/files/output_file.h"
#include "base/files/user_path.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHuggingfaceModel = "model.safetensors";

void refuse_existing(const fs::path& path, const std::string& option) {
  std::error_code error;
  const bool is_free = option == "--npy" ? !fs::exists(path, error) : may_be_new(path);
  if (is_free) return;
  throw Error(ExitCode::kCannotCreate, option + " " + path.string() + " is there already; name another one");
}

// Writes the arrays. On failure it removes what it created, and nothing else. An existing directory would be refused,
// so the same command can then be given again.
void write_arrays(const fs::path& directory, const std::vector<NamedArray>& arrays, const std::string& metadata) {
  make_named_directory(directory, "--npy " + directory.string());
  const OutputFolder folder(directory);
  std::vector<OutputPath> made;
  try {
    for (const NamedArray& array : arrays) {
      made.push_back(folder / (array.name + ".npy"));
      write_npy(made.back(), array);
    }
    made.push_back(folder / "metadata.json");
    write_file_atomically(made.back(), metadata);
  } catch (const Error&) {
    for (const OutputPath& path : made) remove_output(path);
    remove_output(folder.entry());
    throw;
  }
}

// Prepares the folder for from_pretrained, which reads config.json too.
void make_huggingface_folder(const fs::path& target) {
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  refuse_existing(folder / "config.json", "--safetensors " + target.string() + ": beside it");
  make_named_directory(folder, "--safetensors " + target.string());
}

TensorLayout layout_of(const OptionValues& values) {
  const std::string& word = values.text("layout");
  if (word == "eave") return TensorLayout::kEave;
  return word == "huggingface" ? TensorLayout::kHuggingface : TensorLayout::kPytorch;
}

}  // namespace

std::vector<OptionSpec> export_options() {
  return {{"npy", OptionType::kPath, "",
           "new directory for a file per array, for numpy.load, and metadata.json, which says how to read them"},
          {"safetensors", OptionType::kPath, "", "new file for all arrays"},
          choice("layout", {"pytorch", "eave", "huggingface"}, "pytorch",
                 "pytorch: names, shapes and order of inputs of PyTorch's modules, for NCHW images; eave: those of "
                 "model.safetensors, for NHWC images; huggingface: a model of GPT-2's or Llama's form for "
                 "from_pretrained of transformers: FILE is FOLDER/model.safetensors, and config.json is written beside "
                 "it")};
}

void check_export(const OptionValues& values) {
  if (values.has("npy") == values.has("safetensors")) {
    const std::string expected = "expected one of --npy DIR and --safetensors FILE";
    throw Error(ExitCode::kUsage, values.has("npy") ? expected + ", not both" : "no output given; " + expected);
  }
  check_output_options(values, {"npy", "safetensors"});
  if (values.text("layout") != "huggingface") return;
  if (values.has("npy")) throw Error(ExitCode::kUsage, "--layout huggingface is for --safetensors, not for --npy");
  if (fs::path(values.text("safetensors")).filename() != kHuggingfaceModel) {
    throw Error(ExitCode::kUsage, "--safetensors " + values.text("safetensors") +
                                      ": from_pretrained reads only the name model.safetensors in a folder; give "
                                      "FOLDER/model.safetensors");
  }
}

void export_model(const ModelDescription& model, const Graph& graph, const ModelArenas& arenas,
                  const OptionValues& values, const std::string& before) {
  const bool as_npy = values.has("npy");
  const fs::path target = values.text(as_npy ? "npy" : "safetensors");
  const TensorLayout layout = layout_of(values);
  refuse_existing(target, as_npy ? "--npy" : "--safetensors");
  const ModelArrays model_in_layout = model_arrays(graph, layout, arenas.parameters, arenas.statistics);
  if (as_npy) {
    write_arrays(target, model_in_layout.arrays, nlohmann::json(metadata_of(model, graph, layout)).dump(2) + "\n");
  } else {
    if (layout == TensorLayout::kHuggingface) make_huggingface_folder(target);
    write_model(OutputPath::of_person(target), model, layout, arenas.parameters, arenas.statistics);
    if (layout == TensorLayout::kHuggingface) {
      const int context = std::max(model.image.height, model.longest_text);
      write_file_atomically(target.parent_path() / "config.json",
                            huggingface_config(read_form(graph.specification), model.classes, context));
    }
  }
  // Standard output may hold the model.
  std::FILE* const stream = !as_npy && is_standard_output(target) ? stderr : stdout;
  std::fprintf(stream, "%swrote %s, %s, layout %s\n", printable(before).c_str(), printable(target.string()).c_str(),
               count_text(std::ssize(model_in_layout.arrays), "array").c_str(), values.text("layout").c_str());
}

}  // namespace eave
