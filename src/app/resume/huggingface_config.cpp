// The config.json of transformers: written for a model, read as a model, and compared with one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "app/resume/config_entries.h"
#include "app/resume/huggingface_model.h"
#include "base/files/input_file.h"
#include "base/formats/strict_json.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "eave/check.h"
#include "eave/model.h"

namespace eave {
namespace {

constexpr std::size_t kMostBytesOfConfig = std::size_t{1} << 20;

// float32 as people write it: 0.00001, not 0.0000099999997.
double written(float value) { return std::stod(exact_text(value)); }

ConfigJson of_gpt2(const TransformerForm& form) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"n_positions", form.positions},
          {"n_embd", form.width},
          {"n_layer", form.layers},
          {"n_head", form.heads},
          {"n_inner", form.inner},
          {"activation_function", form.is_approximate ? "gelu_new" : "gelu"},
          {"layer_norm_epsilon", written(form.epsilon)},
          {"embd_pdrop", written(form.embedding_dropout)},
          {"resid_pdrop", written(form.branch_dropout)},
          {"attn_pdrop", written(form.attention_dropout)}};
}

// The name that transformers has for the kind of positions, and its numbers.
ConfigJson angles_json(const RotaryAngles& angles) {
  ConfigJson json = {{"rope_type", "default"}, {"rope_theta", written(angles.base)}};
  if (!angles.is_stretched()) return json;
  json["rope_type"] = angles.trained > 0 ? "llama3" : "linear";
  json["factor"] = written(angles.stretch);
  if (angles.trained == 0) return json;
  json["low_freq_factor"] = written(angles.low);
  json["high_freq_factor"] = written(angles.high);
  json["original_max_position_embeddings"] = std::llround(angles.trained);
  return json;
}

// The longest text of a model with rotary positions, which have no table. Stretched ones were made for more than
// `trained` positions, also if the last training had shorter windows.
std::int64_t longest_text(const TransformerForm& form, int context) {
  return form.angles.is_stretched() ? std::max<std::int64_t>(context, std::llround(form.angles.trained)) : context;
}

ConfigJson of_llama(const TransformerForm& form, int context) {
  const bool is_qwen2 = form.biases == LinearBiases{.rows = true};
  if (!is_qwen2 && form.width % form.heads != 0)
    throw Error(ExitCode::kConfiguration, "transformers' Llama needs channels that its heads divide: the model has " +
                                              std::to_string(form.width) + " channels and " +
                                              std::to_string(form.heads) + " heads");
  ConfigJson config = {{"architectures", {is_qwen2 ? "Qwen2ForCausalLM" : "LlamaForCausalLM"}},
                       {"model_type", is_qwen2 ? "qwen2" : "llama"},
                       {"hidden_size", form.width},
                       {"intermediate_size", form.inner},
                       {"num_hidden_layers", form.layers},
                       {"num_attention_heads", form.heads},
                       {"num_key_value_heads", form.groups},
                       {"head_dim", form.head_width},
                       {"max_position_embeddings", longest_text(form, context)},
                       {"hidden_act", "silu"},
                       {"rms_norm_eps", written(form.epsilon)},
                       {"rope_theta", written(form.angles.base)},
                       {"rope_parameters", angles_json(form.angles)},
                       {"attention_dropout", written(form.attention_dropout)},
                       {"attention_bias", form.biases.rows},
                       {"mlp_bias", form.biases.dense}};
  // Before version 5, transformers read stretched positions here.
  if (form.angles.is_stretched()) config["rope_scaling"] = angles_json(form.angles);
  return config;
}

int divided(const ConfigEntries& config, int whole, const char* what, int parts, const char* of) {
  if (whole % parts == 0) return whole / parts;
  config.refuse(
      std::string(what) + " " + std::to_string(whole) + " is no multiple of " + of + " " + std::to_string(parts),
      ExitCode::kBadData);
}

// Limits of models as texts. With more blocks than these, a model has more layers than a text may have.
constexpr int kMostBlocks = 2000, kMostWidth = 1 << 16, kMostInner = 1 << 19, kMostHeads = 1 << 12;
constexpr int kMostPositions = 1 << 20, kMostClasses = 1 << 24;

// GPT2Config of transformers takes the names of newer models, too. If both names are there, it uses these.
int count_of_gpt2(const ConfigEntries& config, const char* newer, const char* name, int otherwise, int most) {
  return config.count(newer, config.count(name, otherwise, most), most);
}

// transformers has several names for each of the two forms of gelu. Their functions differ by rounding only. gelu_10
// and quick_gelu are other functions.
bool is_approximate_in(const ConfigEntries& config) {
  constexpr std::ptrdiff_t kApproximate = 5;
  return config.choice(
             "activation_function",
             {"gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_python_tanh", "gelu", "gelu_python"},
             "gelu_new") < kApproximate;
}

// GPT2Config of transformers.
HuggingfaceConfig gpt2_in(const ConfigEntries& config) {
  HuggingfaceConfig model;
  TransformerForm& form = model.form;
  form.biases = {.rows = true, .mixed = true, .dense = true};
  form.norm_has_bias = true;
  form.layers = count_of_gpt2(config, "num_hidden_layers", "n_layer", 12, kMostBlocks);
  form.width = count_of_gpt2(config, "hidden_size", "n_embd", 768, kMostWidth);
  form.inner = config.count("n_inner", 4 * form.width, kMostInner);
  form.heads = form.groups = count_of_gpt2(config, "num_attention_heads", "n_head", 12, kMostHeads);
  form.head_width = divided(config, form.width, "n_embd", form.heads, "n_head");
  form.positions = model.context =
      count_of_gpt2(config, "max_position_embeddings", "n_positions", 1024, kMostPositions);
  form.is_tied = config.flag("tie_word_embeddings", true);
  form.is_approximate = is_approximate_in(config);
  form.epsilon = static_cast<float>(config.number("layer_norm_epsilon", 1e-5, 1e-12, 1));
  form.embedding_dropout = config.rate("embd_pdrop", 0.1);
  form.attention_dropout = config.rate("attn_pdrop", 0.1);
  form.branch_dropout = config.rate("resid_pdrop", 0.1);
  config.refuse_if_on("scale_attn_by_inverse_layer_idx");
  config.refuse_if_on("add_cross_attention");
  if (!config.flag("scale_attn_weights", true)) config.refuse("scale_attn_weights is off; eave's attention scales");
  const double deviation = config.number("initializer_range", 0.02, 1e-6, 10);
  model.weights = {deviation, scaled_branch_deviation(deviation, form.layers)};
  model.classes = config.count("vocab_size", 50257, kMostClasses);
  return model;
}

// Older versions keep other kinds of positions in rope_scaling, and the base beside it. Newer ones keep both in
// rope_parameters, but let rope_scaling have its way. The kind was once called type.
const ConfigJson* positions_in(const ConfigEntries& config) {
  const ConfigJson* const older = config.entries("rope_scaling");
  const ConfigJson* const parameters = older && !older->empty() ? older : config.entries("rope_parameters");
  if (parameters == nullptr) return nullptr;
  for (const auto& [name, value] : parameters->items())
    if (value.is_object())
      config.refuse("rope_parameters has an entry of its own for " + name + "; eave's layers have the same positions");
  return parameters;
}

RotaryAngles angles_in(const ConfigEntries& config, int context) {
  constexpr double kOtherwise = 10000, kMost = 1e9;
  constexpr const char* kTrained = "original_max_position_embeddings";
  RotaryAngles angles;
  const double beside = config.number("rope_theta", kOtherwise, 1, kMost);
  angles.base = static_cast<float>(beside);
  const ConfigJson* const parameters = positions_in(config);
  if (parameters == nullptr) return angles;
  const ConfigEntries rope(config.path(), *parameters);
  const auto kind = rope.choice("rope_type", {"default", "linear", "llama3"}, rope.word("type", "default"));
  const auto number = [&](const char* name, double least) {
    return static_cast<float>(rope.needed_number(name, least, kMost));
  };
  angles.base = static_cast<float>(rope.number("rope_theta", beside, 1, kMost));
  if (rope.number("partial_rotary_factor", 1, 0, 1) < 1)
    rope.refuse("partial_rotary_factor is below 1; eave turns whole heads");
  if (kind == 0) return angles;
  angles.stretch = number("factor", 1);
  if (kind == 1) return angles;
  angles.low = number("low_freq_factor", 0);
  angles.high = number("high_freq_factor", double{angles.low});
  const int inside = rope.count(kTrained, context, kMostPositions);
  angles.trained = static_cast<float>(config.count(kTrained, inside, kMostPositions));
  return angles;
}

// The defaults of configurations of models with Llama's layers, and which layers have a bias.
struct LlamaKind {
  int inner, groups, context;  // groups 0: as many as heads
  int classes;
  LinearBiases biases;
};

LlamaKind kind_of(const std::string& model_type, const ConfigEntries& config) {
  if (model_type == "mistral") return {14336, 8, 131072, 32000, {}};
  if (model_type == "qwen2") return {22016, 32, 32768, 151936, {.rows = true}};
  const bool attention = config.flag("attention_bias", false);
  return {11008, 0, 2048, 32000, {attention, attention, config.flag("mlp_bias", false)}};
}

// Whether a layer of Qwen2 has a window if windows are on.
bool has_sliding_layer(const ConfigEntries& config, int layers) {
  return config.lists("layer_types", "sliding_attention",
                      config.number("max_window_layers", 28, 0, kMostBlocks) < layers);
}

// Refuses a model in which each token attends only to a window of those before it.
void refuse_window(const std::string& model_type, const ConfigEntries& config, const HuggingfaceConfig& model) {
  constexpr int kUsualWindow = 4096;
  const bool may_slide =
      model_type == "mistral" || (model_type == "qwen2" && config.flag("use_sliding_window", false) &&
                                  has_sliding_layer(config, model.form.layers));
  if (!may_slide || config.is_null("sliding_window")) return;
  const int window = config.count("sliding_window", kUsualWindow, kMostPositions);
  if (window < model.context)
    config.refuse("each token attends to the last " + std::to_string(window) +
                  " tokens (sliding_window). eave has no such "
                  "attention: take a model whose sliding_window is null, or at least its max_position_embeddings, " +
                  std::to_string(model.context));
}

// LlamaConfig, MistralConfig and Qwen2Config of transformers.
HuggingfaceConfig llama_in(const ConfigEntries& config, const std::string& model_type) {
  const LlamaKind kind = kind_of(model_type, config);
  HuggingfaceConfig model;
  TransformerForm& form = model.form;
  form.is_llama = true;
  form.biases = kind.biases;
  form.layers = config.count("num_hidden_layers", 32, kMostBlocks);
  form.width = config.count("hidden_size", 4096, kMostWidth);
  form.inner = config.count("intermediate_size", kind.inner, kMostInner);
  form.heads = config.count("num_attention_heads", 32, kMostHeads);
  const int usual_groups = kind.groups == 0 || config.is_null("num_key_value_heads") ? form.heads : kind.groups;
  form.groups = config.count("num_key_value_heads", usual_groups, kMostHeads);
  divided(config, form.heads, "num_attention_heads", form.groups, "num_key_value_heads");
  form.head_width = config.count("head_dim", std::max(1, form.width / form.heads), kMostWidth);
  form.is_tied = config.flag("tie_word_embeddings", false);
  config.choice("hidden_act", {"silu", "swish"}, "silu");
  form.epsilon = static_cast<float>(config.number("rms_norm_eps", 1e-6, 1e-12, 1));
  form.attention_dropout = config.rate("attention_dropout", 0);
  const double deviation = config.number("initializer_range", 0.02, 1e-6, 10);
  model.weights = {deviation, deviation};
  model.classes = config.count("vocab_size", kind.classes, kMostClasses);
  model.context = config.count("max_position_embeddings", kind.context, kMostPositions);
  form.angles = angles_in(config, model.context);
  refuse_window(model_type, config, model);
  return model;
}

ConfigJson parse_config(const std::filesystem::path& path) {
  ConfigJson config = parse_json_or_discard(read_file(path, kMostBytesOfConfig));
  if (config.is_discarded()) throw Error(ExitCode::kBadData, path.string() + ": is no JSON; get the file again");
  return config;
}

bool is_of_transformers(const ConfigJson& config) {
  return config.is_object() && config.contains("model_type") && config["model_type"].is_string();
}

HuggingfaceConfig model_in(const std::filesystem::path& path, const ConfigJson& json) {
  const ConfigEntries config(path.string(), json);
  const std::vector<std::string> known = {"gpt2", "llama", "mistral", "qwen2"};
  const std::string& type = known[static_cast<std::size_t>(config.choice("model_type", known, ""))];
  return type == "gpt2" ? gpt2_in(config) : llama_in(config, type);
}

// Compares numbers that arrays do not show.
class Comparison {
 public:
  Comparison(std::string path, std::string remedy) : path_(std::move(path)), remedy_(std::move(remedy)) {}
  void number(const char* name, double theirs, const char* in_text, double mine) const {
    if (std::abs(theirs - mine) > 1e-6 * std::abs(mine))
      refuse(std::string(name) + " is " + exact_text(static_cast<float>(theirs)) + ", and the model has " + in_text +
             " " + exact_text(static_cast<float>(mine)));
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ExitCode::kConfiguration, path_ + ": " + why + "; " + remedy_);
  }

 private:
  const std::string path_, remedy_;
};

void compare_angles(const Comparison& comparison, const RotaryAngles& theirs, const RotaryAngles& mine) {
  comparison.number("rope_theta", double{theirs.base}, "base", double{mine.base});
  comparison.number("factor", double{theirs.stretch}, "stretch", double{mine.stretch});
  comparison.number("low_freq_factor", double{theirs.low}, "low", double{mine.low});
  comparison.number("high_freq_factor", double{theirs.high}, "high", double{mine.high});
  comparison.number("original_max_position_embeddings", double{theirs.trained}, "trained", double{mine.trained});
}

void compare_forms(const Comparison& comparison, const TransformerForm& theirs, const TransformerForm& mine) {
  if (theirs.is_llama != mine.is_llama)
    comparison.refuse(std::string("its layers are those of ") + (theirs.is_llama ? "Llama" : "GPT-2") +
                      ", and the model's are those of " + (mine.is_llama ? "Llama" : "GPT-2"));
  comparison.number(mine.is_llama ? "num_attention_heads" : "n_head", theirs.heads, "heads", mine.heads);
  comparison.number(mine.is_llama ? "rms_norm_eps" : "layer_norm_epsilon", double{theirs.epsilon}, "epsilon",
                    double{mine.epsilon});
  if (mine.is_llama) compare_angles(comparison, theirs.angles, mine.angles);
  if (theirs.is_approximate != mine.is_approximate)
    comparison.refuse(std::string("activation_function is ") + (theirs.is_approximate ? "gelu_tanh" : "gelu") +
                      " in eave's words, and the model has " + (mine.is_approximate ? "gelu_tanh" : "gelu"));
}

}  // namespace

std::string huggingface_config(const TransformerForm& form, int classes, int context) {
  ConfigJson config = form.is_llama ? of_llama(form, context) : of_gpt2(form);
  config["vocab_size"] = classes;
  config["tie_word_embeddings"] = form.is_tied;
  config["bos_token_id"] = config["eos_token_id"] = nullptr;
  config["torch_dtype"] = "float32";
  return config.dump(2) + "\n";
}

HuggingfaceConfig read_huggingface_config(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) {
    throw Error(ExitCode::kInputMissing,
                "no " + path.string() + ", where transformers keeps the numbers of a model; copy it into the folder");
  }
  const ConfigJson config = parse_config(path);
  if (!is_of_transformers(config))
    throw Error(ExitCode::kBadData, path.string() + ": was not written by transformers: it has no model_type");
  return model_in(path, config);
}

ModelDescription describe_huggingface_model(const std::filesystem::path& file) {
  const HuggingfaceConfig config = read_huggingface_config(file.parent_path() / "config.json");
  return {model_text(config.form, config.weights), {config.context, 1, 1}, config.classes};
}

int longest_text_of(const SafetensorsFile& file) {
  if (file.metadata.contains("model")) {
    const ModelDescription model = description_in(file);
    const bool is_rotary = model.specification.find("rotary") != std::string::npos;
    return is_rotary ? std::max(model.longest_text, model.image.height) : model.longest_text;
  }
  const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
  if (!is_of_huggingface(file) || !is_folder_of_transformers(folder)) return 0;
  const HuggingfaceConfig config = read_huggingface_config(folder / "config.json");
  return config.form.is_llama ? config.context : 0;
}

bool is_folder_of_transformers(const std::filesystem::path& folder) {
  try {
    return is_of_transformers(parse_config(folder / "config.json"));
  } catch (const Error&) {
    return false;
  }
}

std::string model_text_of_option(const std::string& name_or_text) {
  const std::vector<std::string> names = model_names();
  if (std::ranges::find(names, name_or_text) != names.end()) return name_or_text;
  const std::filesystem::path path = name_or_text;
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  if (is_folder || path.filename() == "config.json") {
    const HuggingfaceConfig config = read_huggingface_config(is_folder ? path / "config.json" : path);
    return model_text(config.form, config.weights);
  }
  const bool is_path = name_or_text.find('/') != std::string::npos && name_or_text.find(';') == std::string::npos;
  if (!is_path) return name_or_text;
  if (std::filesystem::exists(path, error))
    throw Error(ExitCode::kUsage, "--model " + printable(name_or_text) +
                                      " is a file: name its folder, which has the config.json of transformers; weights "
                                      "go to --initial-parameters");
  throw Error(ExitCode::kInputMissing, "--model " + printable(name_or_text) +
                                           ": no such folder; name one with a config.json of transformers, or a model");
}

void check_huggingface_config(const std::string& file, const TransformerForm& form, const std::string& remedy) {
  const std::filesystem::path path = std::filesystem::path(file).parent_path() / "config.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const ConfigJson config = parse_config(path);
  if (is_of_transformers(config)) compare_forms(Comparison(path.string(), remedy), model_in(path, config).form, form);
}

}  // namespace eave
