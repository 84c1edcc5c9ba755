// Weights with the names of Hugging Face's GPT-2 and Llama, and of nanoGPT.
#include "app/resume/huggingface_model.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "app/commands/stored_model.h"
#include "app/resume/model_file.h"
#include "eave/check.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

const std::string kGpt2 =
    "embedding 8 positions 6; residual(layer_norm; linear 24; attention 2; linear 8); residual(layer_norm; linear 32; "
    "gelu_tanh; linear 8); layer_norm; tied_output";
const std::string kPlainGpt2 =
    "embedding 8 positions 6; residual(layer_norm no_bias; linear 24 no_bias; attention 2; linear 8 no_bias); "
    "residual(layer_norm no_bias; linear 32 no_bias; gelu; linear 8 no_bias); layer_norm no_bias; tied_output";
const std::string kLlama =
    "embedding 8; residual(rms_norm; linear 16 no_bias; rotary 4 groups 2; attention 4 groups 2; linear 8 no_bias); "
    "residual(rms_norm; linear 24 no_bias; gated silu; linear 8 no_bias); rms_norm; linear classes no_bias";
constexpr int kClasses = 10;
constexpr ImageShape kWindow{6, 1, 1};

struct HuggingfaceModel : testing::Test {
  // A model whose parameters are all different.
  void begin(const std::string& text) {
    graph = build_graph(text, kWindow, kClasses);
    model = {text, kWindow, kClasses};
    parameters.assign(static_cast<std::size_t>(graph.parameter_size), 0);
    for (const TensorInfo& tensor : graph.parameters) {
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.size; ++i)
        parameters[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
    }
  }
  // Writes the arrays that `change` has changed, as transformers would.
  struct Array {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };
  std::vector<Array> arrays() const {
    std::vector<Array> all;
    for (const NamedArray& array : model_arrays(graph, TensorLayout::kHuggingface, parameters, {}).arrays)
      all.push_back({array.name, array.shape, {array.values.begin(), array.values.end()}});
    return all;
  }
  void write(const std::vector<Array>& arrays) const {
    std::vector<NamedArray> views;
    for (const Array& array : arrays) views.push_back({array.name, array.shape, array.values});
    write_safetensors(OutputPath(path), views, {{"format", "pt"}});
  }
  ModelArenas read() const { return read_model(read_safetensors(path), graph, "the remedy"); }
  void expect_refused(const std::string& says) const {
    expect_error(ExitCode::kConfiguration, says, [&] { read(); });
  }
  void write_config(const std::string& json) const { std::ofstream(directory.path() / "config.json") << json; }

  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "model.safetensors";
  Graph graph;
  ModelDescription model;
  std::vector<float> parameters;
};

HuggingfaceModel::Array turned(HuggingfaceModel::Array array) {
  const auto rows = static_cast<std::size_t>(array.shape[0]), columns = static_cast<std::size_t>(array.shape[1]);
  const std::vector<float> values = array.values;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column)
      array.values[column * rows + row] = values[row * columns + column];
  }
  std::swap(array.shape[0], array.shape[1]);
  return array;
}

TEST_F(HuggingfaceModel, there_and_back_leaves_every_parameter) {
  for (const std::string& text : {kGpt2, kPlainGpt2, kLlama}) {
    begin(text);
    write_model(OutputPath(path), model, TensorLayout::kHuggingface, parameters, {});
    EXPECT_EQ(read().parameters, parameters) << text;
    EXPECT_EQ(description_in(read_safetensors(path)).specification, text);
  }
}

TEST_F(HuggingfaceModel, of_gpt2_may_lack_its_prefix_and_have_masks_and_a_copy_of_its_table) {
  begin(kGpt2);
  std::vector<Array> all = arrays();
  for (Array& array : all) array.name = array.name.substr(std::string("transformer.").size());
  all.push_back({"h.0.attn.bias", {1, 1, 6, 6}, std::vector<float>(36, 1)});
  all.push_back({"lm_head.weight", all[0].shape, all[0].values});
  write(all);
  EXPECT_EQ(read().parameters, parameters);
  all.back().values[3] += 1;
  write(all);
  expect_refused("lm_head.weight is no copy of the table");
}

TEST_F(HuggingfaceModel, of_nanogpt_has_turned_weights) {
  begin(kPlainGpt2);
  std::vector<Array> all;
  for (const Array& array : arrays()) {
    if (array.name.ends_with("bias")) continue;
    const bool is_linear = array.name.find(".c_") != std::string::npos;
    all.push_back(is_linear ? turned(array) : array);
    all.back().name = "_orig_mod." + all.back().name;
  }
  write(all);
  EXPECT_EQ(read().parameters, parameters);
}

TEST_F(HuggingfaceModel, of_another_shape_or_depth_is_refused_by_the_name_of_an_array) {
  begin(kGpt2);
  write(arrays());
  graph = build_graph(
      "embedding 8 positions 6; residual(layer_norm; linear 24; attention 2; linear 8); "
      "residual(layer_norm; linear 16; gelu_tanh; linear 8); layer_norm; tied_output",
      kWindow, kClasses);
  expect_refused("the array 'transformer.h.0.mlp.c_fc.weight' is [8, 32], in the model [8, 16]");
  graph = build_graph(kGpt2, kWindow, kClasses + 1);
  expect_refused("the array 'transformer.wte.weight' is [10, 8], in the model [11, 8]");
  const std::size_t last = kGpt2.rfind("layer_norm");
  const std::size_t first = kGpt2.find("residual");
  const std::string block = kGpt2.substr(first, last - first);
  graph = build_graph(kGpt2.substr(0, last) + block + kGpt2.substr(last), kWindow, kClasses);
  expect_refused("no float32 array 'transformer.h.1.ln_1.weight' [8], which the model has");
  begin(kGpt2.substr(0, last) + block + kGpt2.substr(last));
  write(arrays());
  graph = build_graph(kGpt2, kWindow, kClasses);
  expect_refused("holds the array 'transformer.h.1.attn.c_attn.bias', which the model has not; the remedy");
}

TEST_F(HuggingfaceModel, behind_a_prefix_is_refused_by_the_prefix) {
  for (const auto& [text, prefix] :
       std::vector<std::pair<std::string, std::string>>{{kGpt2, "module."}, {kLlama, "base_model.model."}}) {
    begin(text);
    std::vector<Array> all = arrays();
    for (Array& array : all) array.name = prefix + array.name;
    write(all);
    expect_refused("its names begin with '" + prefix + "', as in '" + prefix);
  }
}

TEST_F(HuggingfaceModel, in_a_folder_of_transformers_is_refused_by_the_prefix_too) {
  begin(kGpt2);
  std::vector<Array> all = arrays();
  for (Array& array : all) array.name = "module." + array.name;
  write(all);
  write_config(huggingface_config(read_form(kGpt2), kClasses, 6));
  expect_error(ExitCode::kConfiguration, "its names begin with 'module.', as in 'module.transformer.",
               [&] { read_stored_model(directory.path()); });
}

TEST_F(HuggingfaceModel, with_an_array_under_two_names_is_refused) {
  begin(kGpt2);
  std::vector<Array> all = arrays();
  const std::string twice = all.back().name;
  all.push_back(all.back());
  all.back().name = "_orig_mod." + twice;
  write(all);
  expect_refused("holds '" + twice + "' and '_orig_mod." + twice +
                 "', which are the same array of the model; save the model again");
}

TEST_F(HuggingfaceModel, of_numbers_of_64_bits_is_refused_by_their_type) {
  begin(kGpt2);
  const std::string header = R"({"transformer.wte.weight":{"dtype":"F64","shape":[10,8],"data_offsets":[0,640]}})";
  std::ofstream file(path, std::ios::binary);
  for (std::size_t byte = 0, length = header.size(); byte < 8; ++byte, length >>= 8)
    file.put(static_cast<char>(length & 0xff));
  file << header << std::string(640, '\0');
  file.close();
  expect_refused("no float32 array 'transformer.wte.weight' [10, 8], which the model has; there it is of type F64");
}

TEST_F(HuggingfaceModel, with_biases_is_refused_by_a_model_without) {
  begin(kPlainGpt2);
  std::vector<Array> all = arrays();
  for (Array& array : all) {
    if (array.name == "transformer.h.0.mlp.c_proj.bias") array.values[2] = 0.5F;
  }
  write(all);
  expect_refused("the array 'transformer.h.0.mlp.c_proj.bias' is not 0, but the model has no bias there");
}

TEST_F(HuggingfaceModel, is_compared_with_the_numbers_in_config_json) {
  begin(kGpt2);
  write(arrays());
  const auto with = [&](const char* name, const nlohmann::json& value) {
    nlohmann::json config = nlohmann::json::parse(huggingface_config(read_form(kGpt2), kClasses, 6));
    config[name] = value;
    write_config(config.dump());
  };
  with("n_head", 2);
  EXPECT_EQ(read().parameters, parameters);
  with("n_head", 4);
  expect_refused("config.json: n_head is 4, and the model has heads 2");
  with("layer_norm_epsilon", 1e-6);
  expect_refused("layer_norm_epsilon is 1e-06, and the model has epsilon 1e-05");
  with("activation_function", "relu");
  expect_refused("activation_function is relu");
  with("scale_attn_by_inverse_layer_idx", true);
  expect_refused("scale_attn_by_inverse_layer_idx is on");
  with("model_type", "gemma");
  expect_refused("model_type is gemma");
  write_config("{\"model_type\": ");
  expect_error(ExitCode::kBadData, "config.json: is no JSON", [&] { read(); });
}

TEST_F(HuggingfaceModel, of_llama_is_compared_with_old_and_new_places_of_the_base) {
  begin(kLlama);
  write(arrays());
  write_config(R"({"model_type": "llama", "num_attention_heads": 4, "rms_norm_eps": 1e-5, "rope_theta": 500000.0})");
  expect_refused("rope_theta is 500000, and the model has base 10000");
  write_config(R"({"model_type": "llama", "num_attention_heads": 4, "rms_norm_eps": 1e-5,
                   "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}})");
  expect_refused("factor is 2, and the model has stretch 1");
  write_config(R"({"model_type": "llama", "num_attention_heads": 4})");
  expect_refused("rms_norm_eps is 1e-06, and the model has epsilon 1e-05");
}

// In two files, as save_pretrained writes large models.
struct HuggingfaceParts : HuggingfaceModel {
  HuggingfaceParts() {
    begin(kGpt2);
    std::vector<Array> all = arrays(), second(all.begin() + 3, all.end());
    all.resize(3);
    write_part("part-1.safetensors", all);
    write_part("part-2.safetensors", second);
  }
  void write_part(const std::string& name, const std::vector<Array>& part, const std::string& format = "pt") {
    std::vector<NamedArray> views;
    for (const Array& array : part) {
      views.push_back({array.name, array.shape, array.values});
      index["weight_map"][array.name] = name;
    }
    write_safetensors(OutputPath(directory.path() / name), views, {{"format", format}});
  }
  ModelArenas read_parts(const std::string& text) const {
    std::ofstream(directory.path() / "model.safetensors.index.json") << text;
    return read_model(read_model_of(directory.path()), graph, "the remedy");
  }
  void expect_refused_parts(const nlohmann::json& json, const std::string& says,
                            ExitCode code = ExitCode::kBadData) const {
    expect_error(code, says, [&] { read_parts(json.is_string() ? json.get<std::string>() : json.dump()); });
  }
  nlohmann::json index = {{"metadata", {{"total_size", 1}}}};
};

TEST_F(HuggingfaceParts, are_read_as_one) {
  EXPECT_EQ(read_parts(index.dump()).parameters, parameters);
  EXPECT_EQ(read_model_of(directory.path() / "model.safetensors.index.json").arrays.size(), arrays().size());
}

// An index of 15,529 arrays, of a model that has 18,978 of the 20,000 layers that a text may have.
TEST_F(HuggingfaceParts, may_be_of_a_model_with_as_many_layers_as_texts_have) {
  TransformerForm form = read_form(kLlama);
  form.layers = 1725;
  form.width = form.inner = form.heads = form.groups = form.head_width = 2;
  begin(model_text(form, {}));
  index["weight_map"].clear();
  write_part("part-1.safetensors", arrays());
  write_part("part-2.safetensors", {{"model.layers.0.self_attn.rotary_emb.inv_freq", {1}, {1}}});
  write_config(huggingface_config(form, kClasses, 6));
  EXPECT_EQ(read_parts(index.dump()).parameters, parameters);
}

TEST_F(HuggingfaceParts, must_fit_their_index) {
  expect_refused_parts("{", "is no index of safetensors");
  expect_refused_parts("", "is no index of safetensors");
  expect_refused_parts(R"({"weight_map": {}})", "is no index of safetensors");
  expect_refused_parts(R"({"weight_map": {"a": 1}})", "gives no name of a file for the array 'a'");
  expect_refused_parts(R"({"weight_map": {"a": "x", "a": "y"}})", "it names 'a' twice");
  const std::string name = arrays().front().name, with_byte_0("part-1.safetensors\0", 19);
  for (const std::string& part : {std::string("../part-1.safetensors"), std::string("/etc/passwd"), std::string(),
                                  std::string(".."), with_byte_0}) {
    nlohmann::json other = index;
    other["weight_map"][name] = part;
    expect_refused_parts(other, "expected the name of a file beside it");
  }
  nlohmann::json other = index;
  other["weight_map"][name] = "part-3.safetensors";
  expect_refused_parts(other,
                       "has the array '" + name + "', which model.safetensors.index.json does not look for in it");
  other = index;
  other["weight_map"]["another"] = "part-2.safetensors";
  expect_refused_parts(other, "lacks the array 'another', which model.safetensors.index.json looks for in it");
  std::filesystem::remove(directory.path() / "part-2.safetensors");
  expect_refused_parts(index, "part-2.safetensors, a part of ", ExitCode::kInputMissing);
}

TEST_F(HuggingfaceParts, must_have_the_same_metadata) {
  const std::vector<Array> all = arrays();
  write_part("part-2.safetensors", {all.begin() + 3, all.end()}, "eave");
  expect_refused_parts(index,
                       "part-2.safetensors: its metadata say 'eave' for 'format', but those of another part say "
                       "'pt'");
}

TEST_F(HuggingfaceModel, is_refused_by_models_of_another_form) {
  begin(kGpt2);
  write(arrays());
  const auto refuse = [&](const std::string& text, const std::string& says) {
    graph = build_graph(text, kWindow, kClasses);
    SCOPED_TRACE(text);
    expect_refused("its arrays have the names of GPT-2 or Llama, but ");
    expect_refused(says);
  };
  refuse("embedding 8 positions 6; layer_norm; tied_output", "no residual blocks");
  refuse(
      "embedding 8 positions 6; residual(layer_norm; linear 8; relu; linear 8); residual(layer_norm; linear 8; gelu; "
      "linear 8); layer_norm; tied_output",
      "layer 5 \"relu\" stands where they have attention");
  std::string other = kGpt2;
  refuse(other.replace(other.find("gelu_tanh"), 9, "silu"), "\"silu\" stands where they have gelu");
  other = kGpt2;
  refuse(other.replace(other.find("linear 32"), 9, "linear 32 no_bias"), "some have none");
  refuse(kGpt2.substr(0, kGpt2.size() - 11) + "linear classes", "\"linear classes no_bias\"");
}

}  // namespace
}  // namespace eave
