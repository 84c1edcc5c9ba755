// The config.json of transformers: written for a model, and compared with one.
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/resume/huggingface_model.h"
#include "base/files/input_file.h"
#include "base/formats/strict_json.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "eave/check.h"

namespace eave {
namespace {

using ConfigJson = nlohmann::ordered_json;

constexpr std::size_t kMostBytesOfConfig = std::size_t{1} << 20;

// float32 as people write it: 0.00001, not 0.0000099999997.
double written(float value) { return std::stod(number_text(double{value})); }

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
          {"embd_pdrop", written(form.dropout)},
          {"resid_pdrop", written(form.dropout)},
          {"attn_pdrop", 0.0}};
}

ConfigJson of_llama(const TransformerForm& form, int context) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_size", form.width},
          {"intermediate_size", form.inner},
          {"num_hidden_layers", form.layers},
          {"num_attention_heads", form.heads},
          {"num_key_value_heads", form.groups},
          {"head_dim", form.head_width},
          {"max_position_embeddings", context},
          {"hidden_act", "silu"},
          {"rms_norm_eps", written(form.epsilon)},
          {"rope_theta", written(form.base)},
          {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", written(form.base)}}},
          {"attention_bias", false},
          {"mlp_bias", false}};
}

// Compares entries of a config.json with what a model has.
class Comparison {
 public:
  Comparison(std::string path, const ConfigJson& config, std::string remedy)
      : path_(std::move(path)), config_(config), remedy_(std::move(remedy)) {}

  // `otherwise`: the value of transformers for an entry that is not there.
  void number(const char* name, double mine, double otherwise, const std::string& in_text) const {
    const auto found = config_.find(name);
    const bool is_number = found != config_.end() && found->is_number();
    if (found != config_.end() && !is_number && !found->is_null()) refuse(std::string(name) + " is no number");
    const double theirs = is_number ? found->get<double>() : otherwise;
    if (std::abs(theirs - mine) > 1e-6 * std::abs(mine))
      refuse(std::string(name) + " is " + number_text(theirs) + ", and the model has " + in_text + " " +
             number_text(mine));
  }
  void word(const char* name, const std::vector<std::string>& mine, const std::string& otherwise) const {
    const auto found = config_.find(name);
    const std::string theirs = found != config_.end() && found->is_string() ? found->get<std::string>() : otherwise;
    if (std::ranges::find(mine, theirs) == mine.end())
      refuse(std::string(name) + " is " + theirs + ", and the model's text has what they call " + mine.front());
  }
  void off(const char* name) const {
    const auto found = config_.find(name);
    const bool is_off = found == config_.end() || found->is_null() || (found->is_boolean() && !found->get<bool>());
    if (!is_off) refuse(std::string(name) + " is on, which eave's layers do not have");
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ExitCode::kConfiguration, path_ + ": " + printable(why) + "; " + remedy_);
  }

 private:
  const std::string path_;
  const ConfigJson& config_;
  const std::string remedy_;
};

void check_gpt2(const Comparison& config, const TransformerForm& form) {
  config.number("n_head", form.heads, 12, "heads");
  config.number("layer_norm_epsilon", double{form.epsilon}, 1e-5, "epsilon");
  config.word("activation_function",
              form.is_approximate ? std::vector<std::string>{"gelu_new", "gelu_pytorch_tanh", "gelu_fast"}
                                  : std::vector<std::string>{"gelu", "gelu_python"},
              "gelu_new");
  config.off("scale_attn_by_inverse_layer_idx");
}

// Newer versions keep the base in rope_parameters, older ones beside it.
void check_llama(const Comparison& config, const TransformerForm& form, const ConfigJson& json, const std::string& path,
                 const std::string& remedy) {
  config.number("num_attention_heads", form.heads, 32, "heads");
  config.number("rms_norm_eps", double{form.epsilon}, 1e-6, "epsilon");
  config.word("hidden_act", {"silu"}, "silu");
  config.off("rope_scaling");
  const auto rope = json.find("rope_parameters");
  if (rope == json.end() || !rope->is_object()) return config.number("rope_theta", double{form.base}, 10000, "base");
  const Comparison of_rope(path, *rope, remedy);
  of_rope.number("rope_theta", double{form.base}, 10000, "base");
  of_rope.word("rope_type", {"default"}, "default");
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

void check_huggingface_config(const std::string& file, const TransformerForm& form, const std::string& remedy) {
  const std::filesystem::path path = std::filesystem::path(file).parent_path() / "config.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const ConfigJson config = parse_json_or_discard(read_file(path, kMostBytesOfConfig));
  if (config.is_discarded()) throw Error(ExitCode::kBadData, path.string() + ": is no JSON; get the file again");
  const auto type = config.find("model_type");
  if (!config.is_object() || type == config.end() || !type->is_string()) return;  // not of transformers
  const Comparison comparison(path.string(), config, remedy);
  comparison.word("model_type", {form.is_llama ? "llama" : "gpt2"}, "");
  form.is_llama ? check_llama(comparison, form, config, path.string(), remedy) : check_gpt2(comparison, form);
}

}  // namespace eave
