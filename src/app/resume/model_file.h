// Reads and writes a trained model as a file: model.safetensors of a run, the output of `eave export`, and the input of
// --initial-parameters.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/files/output_path.h"
#include "base/formats/safetensors.h"
#include "nn/tensor_layout.h"

namespace eave {

// Facts about a model that the arrays do not contain. They are in the file's metadata.
struct ModelDescription {
  std::string specification;  // the text of the model, not its name
  ImageShape image;
  int classes = 0;
  std::string class_names = {};  // a JSON list of texts, in ASCII; "" if not known
  std::string input = {};        // how pixels are transformed before the first layer; "" if not known
  std::string vocabulary = {};   // DataSplit::vocabulary; "" if not known
  int longest_text = 0;          // tokens, of the model from whose weights it began; 0 if not known
};

struct ModelArenas {
  std::vector<float> parameters, statistics;
};

// Named arrays in one layout. In eave's layout they are views of the arenas; in PyTorch's they are views of `values`.
struct ModelArrays {
  std::vector<std::vector<float>> values;
  std::vector<NamedArray> arrays;
};
ModelArrays model_arrays(const Graph& graph, TensorLayout layout, ConstSlice parameters, ConstSlice statistics);

// The class names as JSON; "" if there are none, or if they are too long for a file's header.
std::string text_of_names(const std::vector<std::string>& class_names);

// Describes how a pixel's byte is transformed: "(pixel / 255 - mean) / deviation; mean 0.286; deviation 0.353", with
// one number for each channel.
std::string text_of_input(std::span<const float> mean, std::span<const float> deviation);

// The metadata that is the same in every layout.
std::map<std::string, std::string> metadata_of(const ModelDescription& model);
// All metadata of a file in this layout.
std::map<std::string, std::string> metadata_of(const ModelDescription& model, const Graph& graph, TensorLayout layout);

// Writes the file atomically. Throws Error: kCannotCreate, kInputOutput.
void write_model(const OutputPath& path, const ModelDescription& model, TensorLayout layout, ConstSlice parameters,
                 ConstSlice statistics);

// The model file of a run directory, or the index of a folder whose weights lie in several files. Any other path is the
// file itself.
std::filesystem::path find_model(const std::filesystem::path& place);
// Reads the model file, or all files of an index. A path that a person gave may be a pipe. Throws as read_safetensors
// and read_safetensors_parts do.
SafetensorsFile read_model_of(const std::filesystem::path& place);

// A hash of all that reading a model takes from the file: the arrays, and the format in which they are stored.
std::string identity_of_model(const SafetensorsFile& file);

// Reads the description from a file's metadata. Throws Error(kBadData) if the file does not describe its model, or
// describes it wrongly.
ModelDescription description_in(const SafetensorsFile& file);
// The same for metadata that was read from `path`.
ModelDescription description_in(const std::map<std::string, std::string>& metadata, const std::filesystem::path& path);

// Reads the values in the order of the graph's arenas, with padding 0. If the file's metadata has format "pt", as is
// custom for PyTorch, its layout is PyTorch's, else eave's. Arrays with Hugging Face's names for GPT-2 and Llama, and
// nanoGPT's, are read as huggingface_arrays says (huggingface_model.h).
// Throws Error: kConfiguration (an array is missing, unknown or has another shape; the message names the first one and
// ends with `remedy`), kBadData (a value is not finite).
ModelArenas read_model(const SafetensorsFile& file, const Graph& graph,
                       const std::string& remedy = "get the file again, or take another");
// The same, into arenas of the graph that already hold a model: no second copy of the file's values is in memory.
// Leaves padding as it is. Writes nothing if it throws.
void read_model_into(const SafetensorsFile& file, const Graph& graph, Slice parameters, Slice statistics,
                     const std::string& remedy);

}  // namespace eave
