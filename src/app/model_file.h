// A trained model as a file: model.safetensors of a run, what `eave export` makes of it, and what --initial-parameters
// takes.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/output_path.h"
#include "base/safetensors.h"
#include "nn/tensor_layout.h"

namespace eave {

// What the arrays alone do not tell. It stands in the file's metadata.
struct ModelDescription {
  std::string specification;  // its text, not its name
  ImageShape image;
  int classes = 0;
  std::string class_names = {};  // a JSON list of texts, in ASCII; "": not known
  std::string input = {};        // what pixels become before the first layer; "": not known
};

struct ModelArenas {
  std::vector<float> parameters, statistics;
};

// Arrays named and laid out in one way: views of the arenas in eave's, of `values` in PyTorch's.
struct ModelArrays {
  std::vector<std::vector<float>> values;
  std::vector<NamedArray> arrays;
};
ModelArrays model_arrays(const Graph& graph, TensorLayout layout, ConstSlice parameters, ConstSlice statistics);

// "" where there are none, or more than a file's header should hold.
std::string text_of_names(const std::vector<std::string>& class_names);

// What pixels become, of bytes: "(pixel / 255 - mean) / deviation; mean 0.286; deviation 0.353", for each channel.
std::string text_of_input(std::span<const float> mean, std::span<const float> deviation);

// As it stands in files beside the arrays, in every layout.
std::map<std::string, std::string> metadata_of(const ModelDescription& model);
// All that stands in a file of this layout.
std::map<std::string, std::string> metadata_of(const ModelDescription& model, const Graph& graph, TensorLayout layout);

// Atomic. Throws Error: kCannotCreate, kInputOutput.
void write_model(const OutputPath& path, const ModelDescription& model, TensorLayout layout, ConstSlice parameters,
                 ConstSlice statistics);

// The model of a run directory; else what is named is the file.
std::filesystem::path find_model(const std::filesystem::path& place);
// Reads it. What a person named may be a pipe that gives its content. Throws as
// read_safetensors.
SafetensorsFile read_model_of(const std::filesystem::path& place);

// Throws Error(kBadData): the file does not say which model it is, or says it wrongly.
ModelDescription description_in(const SafetensorsFile& file);
// The same of metadata that stand in `path`.
ModelDescription description_in(const std::map<std::string, std::string>& metadata, const std::filesystem::path& path);

// The values in the order of the graph's arenas, padding 0. The layout is PyTorch's where the file's metadata has
// format "pt", as is the custom for it, else eave's. Throws Error: kConfiguration naming the first array that the file
// lacks, has in another shape or has too many, and `remedy`; kBadData where a value is not finite.
ModelArenas read_model(const SafetensorsFile& file, const Graph& graph,
                       const std::string& remedy = "get the file again, or take another");

}  // namespace eave
