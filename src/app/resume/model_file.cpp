#include "app/resume/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "app/resume/huggingface_model.h"
#include "app/resume/missing_model.h"
#include "base/formats/safetensors_parts.h"
#include "base/hash.h"
#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::size_t kMostBytesOfNames = std::size_t{256} << 10;  // a header has at most 1 MiB
// of metadata, names and layouts; files written before 2026-11-26 have no version
constexpr const char* kVersion = "1";
constexpr const char* kPytorchFormat = "pt";  // the custom in files for PyTorch

std::string text_of(ImageShape image) {
  return std::to_string(image.height) + "x" + std::to_string(image.width) + "x" + std::to_string(image.channels);
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

[[noreturn]] void refuse(const SafetensorsFile& file, const std::string& why,
                         ExitCode code = ExitCode::kConfiguration) {
  throw Error(code, file.path + ": " + why);
}

void require_known_version(const std::map<std::string, std::string>& metadata, const std::filesystem::path& path) {
  const auto version = metadata.find("eave_format");
  if (version == metadata.end() || version->second == kVersion) return;
  throw Error(ExitCode::kBadData, path.string() + ": it says eave_format " + version->second + "; this eave reads " +
                                      kVersion + ": use the eave that wrote it, or a newer one");
}

using Arrays = std::map<std::string, const NamedArray*>;  // arrays by name

std::optional<std::size_t> first_not_finite(ConstSlice values) {
  const auto found = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  return found == values.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - values.begin()));
}

// The part of an array's name before the one that the model knows, such as "module."; "" if there is none.
std::string prefix_of(const std::string& name, const std::set<std::string>& known) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const std::string rest = name.substr(dot + 1);
    if (known.contains(rest) || is_huggingface_table(rest)) return name.substr(0, dot + 1);
  }
  return "";
}

// Refuses a file that has none of the model's names, and shows one of its names.
void check_names(const SafetensorsFile& file, const std::vector<StoredTensor>& tensors, const std::string& remedy) {
  std::set<std::string> known, names;
  for (const StoredTensor& tensor : tensors) known.insert(tensor.name);
  for (const NamedArray& array : file.arrays) names.insert(array.name);
  for (const auto& [name, type] : file.types_left_out) names.insert(name);
  if (names.empty() || std::ranges::any_of(names, [&](const std::string& name) { return known.contains(name); }))
    return;
  const std::string missing = "holds no float32 array '" + tensors.front().name + "' " +
                              text_of(tensors.front().shape) + ", which the model has; ";
  for (const std::string& name : names) {
    const std::string prefix = prefix_of(name, known);
    if (prefix.empty()) continue;
    refuse(file, missing + "its names begin with '" + prefix + "', as in '" + name +
                     "': write the arrays under the names without it");
  }
  refuse(file, missing + "its names are others, such as '" + *names.begin() + "'; " + remedy);
}

[[noreturn]] void refuse_missing(const SafetensorsFile& file, const StoredTensor& tensor, const std::string& remedy) {
  const auto other = file.types_left_out.find(tensor.name);
  const std::string missing =
      "holds no float32 array '" + tensor.name + "' " + text_of(tensor.shape) + ", which the model has; ";
  if (other == file.types_left_out.end()) refuse(file, missing + remedy);
  refuse(file, missing + "there it is of type " + other->second +
                   ", and eave reads F32, BF16 and F16: write the file with tensors of one of these");
}

void check_array(const SafetensorsFile& file, const Arrays& arrays, const StoredTensor& tensor, const char* layout,
                 const std::string& remedy) {
  const auto found = arrays.find(tensor.name);
  if (found == arrays.end()) refuse_missing(file, tensor, remedy);
  const NamedArray& array = *found->second;
  if (array.shape != tensor.shape) {
    refuse(file, "the array '" + tensor.name + "' is " + text_of(array.shape) + ", in the model " +
                     text_of(tensor.shape) + ", read in " + layout + "; " + remedy);
  }
  if (const auto index = first_not_finite(array.values)) {
    refuse(file,
           "the array '" + tensor.name + "' has values that are not finite: the first is at index " +
               std::to_string(*index) + "; take another checkpoint or model",
           ExitCode::kBadData);
  }
}

Arrays find_arrays(const SafetensorsFile& file, const std::vector<StoredTensor>& tensors, const char* layout,
                   const std::string& remedy) {
  check_names(file, tensors, remedy);
  Arrays arrays;
  std::set<std::string> unknown;
  for (const NamedArray& array : file.arrays) {
    arrays[array.name] = &array;
    unknown.insert(array.name);
  }
  // PyTorch's modules have integer counters that no model needs. Weights are floating-point numbers of any width.
  for (const auto& [name, type] : file.types_left_out) {
    if (type.find('F') != std::string::npos) unknown.insert(name);
  }
  for (const StoredTensor& tensor : tensors) {
    check_array(file, arrays, tensor, layout, remedy);
    unknown.erase(tensor.name);
  }
  if (!unknown.empty()) refuse(file, "holds the array '" + *unknown.begin() + "', which the model has not; " + remedy);
  return arrays;
}

// A tensor of the model, and its values in the file.
struct FoundTensor {
  StoredTensor tensor;
  ConstSlice values;
};

std::vector<FoundTensor> find_tensors(const SafetensorsFile& file, const std::vector<StoredTensor>& tensors,
                                      const char* layout, const std::string& remedy) {
  const Arrays arrays = find_arrays(file, tensors, layout, remedy);
  std::vector<FoundTensor> found;
  for (const StoredTensor& tensor : tensors) found.push_back({tensor, arrays.at(tensor.name)->values});
  return found;
}

// Checks all of the file, so that reading it cannot fail any more.
std::vector<FoundTensor> find_tensors(const SafetensorsFile& file, const Graph& graph, const std::string& remedy) {
  require_known_version(file.metadata, file.path);
  if (is_of_huggingface(file)) {
    const HuggingfaceArrays found = huggingface_arrays(file, graph, remedy);
    return find_tensors(found.file, found.tensors, "the names of Hugging Face's transformers", remedy);
  }
  const auto format = file.metadata.find("format");
  const bool is_pytorch = format != file.metadata.end() && format->second == kPytorchFormat;
  return find_tensors(file, stored_tensors(graph, is_pytorch ? TensorLayout::kPytorch : TensorLayout::kEave),
                      is_pytorch ? "PyTorch's layout" : "eave's layout; files of PyTorch's say {\"format\": \"pt\"}",
                      remedy);
}

void scatter_all(const std::vector<FoundTensor>& found, Slice parameters, Slice statistics) {
  for (const auto& [tensor, values] : found) scatter(tensor, values, tensor.is_statistic ? statistics : parameters);
}

// The arrays that Hugging Face's model has and this one lacks.
void add_zeros(const Graph& graph, ModelArrays& model) {
  for (const auto& [name, size] : huggingface_zeros(read_form(graph.specification))) {
    model.values.emplace_back(static_cast<std::size_t>(size));
    model.arrays.push_back({name, {size}, model.values.back()});
  }
}

const char* words_of_layout(TensorLayout layout, bool is_text) {
  if (layout == TensorLayout::kHuggingface) return "names and shapes of Hugging Face's transformers";
  if (is_text) {
    return layout == TensorLayout::kPytorch ? "windows of tokens; linear weights [out, in]"
                                            : "windows of tokens; linear weights [in, out]";
  }
  return layout == TensorLayout::kPytorch
             ? "images NCHW; conv weights [out, in, height, width]; dense weights [out, in]"
             : "images NHWC; conv weights [height, width, in, out]; dense weights [in, out]";
}

}  // namespace

ModelArrays model_arrays(const Graph& graph, TensorLayout layout, ConstSlice parameters, ConstSlice statistics) {
  ModelArrays model;
  const bool as_they_lie = layout == TensorLayout::kEave;
  for (const StoredTensor& tensor : stored_tensors(graph, layout)) {
    const ConstSlice arena = tensor.is_statistic ? statistics : parameters;
    if (!as_they_lie) model.values.push_back(gather(tensor, arena));
    model.arrays.push_back(
        {tensor.name, tensor.shape,
         as_they_lie ? arena.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.size))
                     : ConstSlice(model.values.back())});
  }
  if (layout == TensorLayout::kHuggingface) add_zeros(graph, model);
  return model;
}

std::string text_of_names(const std::vector<std::string>& class_names) {
  if (class_names.empty()) return "";
  const std::string text = nlohmann::json(class_names).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() <= kMostBytesOfNames ? text : "";
}

std::string text_of_input(std::span<const float> mean, std::span<const float> deviation) {
  const auto listed = [](std::span<const float> values) {
    std::string text;
    for (const float value : values) text += " " + shortest_text(value);
    return text;
  };
  return "(pixel / 255 - mean) / deviation; mean" + listed(mean) + "; deviation" + listed(deviation);
}

std::map<std::string, std::string> metadata_of(const ModelDescription& model) {
  std::map<std::string, std::string> metadata = {
      {"model", model.specification}, {"image", text_of(model.image)}, {"classes", std::to_string(model.classes)}};
  if (!model.class_names.empty()) metadata["class_names"] = model.class_names;
  if (!model.input.empty()) metadata["input"] = model.input;
  if (!model.vocabulary.empty()) metadata["vocabulary"] = model.vocabulary;
  if (model.longest_text > 0) metadata["longest_text"] = std::to_string(model.longest_text);
  return metadata;
}

std::map<std::string, std::string> metadata_of(const ModelDescription& model, const Graph& graph, TensorLayout layout) {
  std::map<std::string, std::string> metadata = metadata_of(model);
  metadata["eave_format"] = kVersion;
  metadata["format"] = layout == TensorLayout::kEave ? "eave" : kPytorchFormat;
  metadata["layout"] = words_of_layout(layout, graph.reads_tokens);
  const std::string conventions = conventions_of(model.specification, graph, layout);
  if (!conventions.empty()) metadata["conventions"] = conventions;
  return metadata;
}

void write_model(const OutputPath& path, const ModelDescription& model, TensorLayout layout, ConstSlice parameters,
                 ConstSlice statistics) {
  const Graph graph = build_graph(model.specification, model.image, model.classes);
  write_safetensors(path, model_arrays(graph, layout, parameters, statistics).arrays,
                    metadata_of(model, graph, layout));
}

ModelDescription description_in(const SafetensorsFile& file) { return description_in(file.metadata, file.path); }

ModelDescription description_in(const std::map<std::string, std::string>& metadata, const std::filesystem::path& path) {
  const auto text = [&](const char* key) {
    const auto found = metadata.find(key);
    if (found != metadata.end()) return found->second;
    throw Error(ExitCode::kBadData, path.string() + ": says nothing of '" + key + "'; take a file that eave wrote");
  };
  require_known_version(metadata, path);
  ModelDescription model{text("model"), {}, 0};
  const std::string image = text("image"), classes = text("classes");
  ImageShape& shape = model.image;
  constexpr int kMostPixels = 99'999;  // of an edge; windows of text may have more tokens
  char rest = 0;
  if (std::sscanf(image.c_str(), "%9dx%9dx%9d%c", &shape.height, &shape.width, &shape.channels, &rest) != 3 ||
      std::sscanf(classes.c_str(), "%9d%c", &model.classes, &rest) != 1 || shape.height < 1 || shape.width < 1 ||
      shape.channels < 1 || std::max(shape.width, shape.channels) > kMostPixels ||
      (shape.height > kMostPixels && shape.width > 1) || model.classes < 1) {
    throw Error(ExitCode::kBadData, path.string() + ": is for images of '" + image + "' and '" + classes +
                                        "' classes, which is no model; get the file again");
  }
  if (const auto names = metadata.find("class_names"); names != metadata.end()) model.class_names = names->second;
  if (const auto input = metadata.find("input"); input != metadata.end()) model.input = input->second;
  if (const auto hash = metadata.find("vocabulary"); hash != metadata.end()) model.vocabulary = hash->second;
  if (const auto tokens = metadata.find("longest_text");
      tokens != metadata.end() &&
      (std::sscanf(tokens->second.c_str(), "%9d%c", &model.longest_text, &rest) != 1 || model.longest_text < 1)) {
    throw Error(ExitCode::kBadData, path.string() + ": its longest_text '" + tokens->second +
                                        "' is no number of tokens; get the file again");
  }
  return model;
}

ModelArenas read_model(const SafetensorsFile& file, const Graph& graph, const std::string& remedy) {
  const std::vector<FoundTensor> found = find_tensors(file, graph, remedy);
  // Allocated only now: the file is known to have as many values as the model.
  ModelArenas arenas{std::vector<float>(static_cast<std::size_t>(graph.parameter_size)),
                     std::vector<float>(static_cast<std::size_t>(graph.statistics_size))};
  scatter_all(found, arenas.parameters, arenas.statistics);
  return arenas;
}

void read_model_into(const SafetensorsFile& file, const Graph& graph, Slice parameters, Slice statistics,
                     const std::string& remedy) {
  scatter_all(find_tensors(file, graph, remedy), parameters, statistics);
}

std::filesystem::path find_model(const std::filesystem::path& place) {
  std::error_code error;
  if (!std::filesystem::is_directory(place, error)) return place;
  const std::filesystem::path whole = place / "model.safetensors", index = place / "model.safetensors.index.json";
  return !std::filesystem::exists(whole, error) && std::filesystem::exists(index, error) ? index : whole;
}

SafetensorsFile read_model_of(const std::filesystem::path& place) {
  refuse_config_of_model(place);
  const std::filesystem::path file = find_model(place);
  if (is_safetensors_index(file)) return read_safetensors_parts(file);
  if (file != place) require_model_in(place);
  return file == place ? read_named_safetensors(place) : read_safetensors(file);
}

std::string identity_of_model(const SafetensorsFile& file) {
  Hasher hasher;
  const auto format = file.metadata.find("format");
  hasher.add(format == file.metadata.end() ? "" : format->second);
  for (const NamedArray& array : file.arrays) {
    hasher.add("\n" + array.name + " " + text_of(array.shape) + "\n");
    const auto bytes = std::as_bytes(array.values);
    hasher.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return hasher.hash().text();
}

}  // namespace eave
