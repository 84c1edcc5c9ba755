// Recognises GPT-2's and Llama's form in the text of a model.
#include "nn/transformer_form.h"

#include <limits>

#include "eave/check.h"
#include "nn/specification.h"
#include "nn/token_layers.h"

namespace eave {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();
const char* const kSomeBiases = "some linear layers have a bias and some have none";
const char* const kOtherWidth = "a block gives another width than the embedding";

// Reads layers one after another. Those of dropout are passed over; the first one gives its rate.
class FormReader {
 public:
  FormReader(const std::vector<LayerText>& layers, TransformerForm& form, float& dropout_rate)
      : layers_(layers), form_(form), dropout_rate_(dropout_rate) {}

  bool has_next() {
    while (next_ < layers_.size() && layers_[next_].word == "dropout") {
      if (dropout_rate_ == 0) dropout_rate_ = ArgumentReader(layers_[next_]).take_fraction("the rate");
      ++next_;
    }
    return next_ < layers_.size();
  }
  bool is_next(const std::string& word) { return has_next() && layers_[next_].word == word; }
  const LayerText& take(const std::string& word) {
    if (is_next(word)) return layers_[next_++];
    refuse(has_next() ? "layer " + std::to_string(layers_[next_].number) + " \"" + layers_[next_].text() +
                            "\" stands " + "where they have " + word
                      : "a " + word + " is missing at the end of " + (next_ == 0 ? "it" : "a block"));
  }
  void finish() {
    if (has_next()) refuse("they have nothing like layer " + std::to_string(layers_[next_].number) + " there");
  }

  [[noreturn]] static void refuse(const std::string& why) {
    throw Error(ExitCode::kConfiguration,
                "the model's form differs from Hugging Face's GPT-2, Llama and Qwen2: " + why);
  }

  // A number that all blocks share.
  template <class Number>
  static void agree(Number& known, Number found, const std::string& what) {
    if (known == Number{}) known = found;
    if (known != found) refuse("layers have different " + what);
  }

  // `known`: whether such a layer of a block has a bias; the first one sets it.
  int take_linear(bool& known, bool is_first) {
    const LayerText& text = take("linear");
    ArgumentReader arguments(text);
    if (arguments.take_word("classes")) refuse("an output stands where they have a linear layer");
    const int outputs = arguments.take_count("the number of outputs", 1, kMost);
    const bool has_bias = takes_bias(arguments);
    if (is_first) known = has_bias;
    if (has_bias != known) refuse(kSomeBiases);
    return outputs;
  }
  void take_norm() {
    ArgumentReader arguments(take(form_.is_llama ? "rms_norm" : "layer_norm"));
    bool has_bias = !form_.is_llama;
    float epsilon = 1e-5f;
    while (arguments.has_next()) {
      if (arguments.take_word("no_bias")) {
        has_bias = false;
      } else if (arguments.take_word("epsilon")) {
        epsilon = arguments.take_number("epsilon", 1e-12f, 1);
      } else {
        break;
      }
    }
    agree(form_.epsilon, epsilon, "epsilons");
    if (norms_++ == 0 && is_first_) form_.norm_has_bias = has_bias;
    if (has_bias != form_.norm_has_bias) refuse("some norms have a bias and some have none");
  }
  void take_heads(const std::string& word) {
    ArgumentReader arguments(take(word));
    const int heads = arguments.take_count("the number of heads", 1, kMost);
    const int groups = arguments.take_word("groups") ? arguments.take_count("the number of groups", 1, kMost) : heads;
    agree(form_.heads, heads, "heads");
    agree(form_.groups, groups, "groups");
    if (word != "rotary") return take_dropout(arguments);
    const RotaryAngles angles = read_angles(arguments);
    if (is_first_) form_.angles = angles;
    if (form_.angles != angles) refuse("layers have different rotary positions");
  }
  void take_dropout(ArgumentReader& arguments) {
    if (!arguments.take_word("dropout")) return;
    const float rate = arguments.take_fraction("the rate");
    if (form_.attention_dropout == 0) form_.attention_dropout = rate;
  }
  void follow(bool is_first) { is_first_ = is_first; }

 private:
  static bool takes_bias(ArgumentReader& arguments) {
    bool has_bias = true;
    while (arguments.has_next()) {
      if (arguments.take_word("no_bias")) {
        has_bias = false;
      } else if (arguments.take_word("deviation")) {
        arguments.take_number("the deviation", 0, 10);
      } else {
        break;
      }
    }
    return has_bias;
  }

  const std::vector<LayerText>& layers_;
  TransformerForm& form_;
  float& dropout_rate_;
  std::size_t next_ = 0;
  int norms_ = 0;
  bool is_first_ = false;  // the first block, which sets what the others must have
};

void read_attention(const LayerText& block, TransformerForm& form, bool is_first) {
  FormReader reader(block.body, form, form.branch_dropout);
  reader.follow(is_first);
  reader.take_norm();
  const int rows = reader.take_linear(form.biases.rows, is_first);
  if (form.is_llama) reader.take_heads("rotary");
  reader.take_heads("attention");
  FormReader::agree(form.head_width, rows / (form.heads + 2 * form.groups), "channels of a head");
  if (reader.take_linear(form.biases.mixed, is_first) != form.width) FormReader::refuse(kOtherWidth);
  reader.finish();
  if (!form.is_llama && (form.groups != form.heads || form.head_width * form.heads != form.width))
    FormReader::refuse("GPT-2's attention has as many channels as the embedding, and no groups");
}

void read_dense(const LayerText& block, TransformerForm& form) {
  FormReader reader(block.body, form, form.branch_dropout);
  reader.take_norm();
  const int outputs = reader.take_linear(form.biases.dense, form.layers == 0);
  FormReader::agree(form.inner, form.is_llama ? outputs / 2 : outputs, "channels between linear layers");
  if (form.is_llama) {
    if (!ArgumentReader(reader.take("gated")).take_word("silu")) FormReader::refuse("Llama's gate is silu");
  } else {
    const bool is_approximate = reader.is_next("gelu_tanh");
    reader.take(is_approximate ? "gelu_tanh" : "gelu");
    if (form.layers == 0) form.is_approximate = is_approximate;
    if (form.is_approximate != is_approximate) FormReader::refuse("layers have different activations");
  }
  if (reader.take_linear(form.biases.dense, false) != form.width) FormReader::refuse(kOtherWidth);
  reader.finish();
}

// GPT-2 has biases everywhere or nowhere. Llama has them in both layers of attention or none, and apart from that in
// both dense layers or none. Qwen2 has them in the rows alone.
void check_biases(const TransformerForm& form) {
  const LinearBiases& has = form.biases;
  const bool fits = form.is_llama ? has.rows == has.mixed || has == LinearBiases{.rows = true}
                                  : has.rows == has.mixed && has.mixed == has.dense;
  if (!fits) FormReader::refuse(kSomeBiases);
}

void read_output(FormReader& reader, TransformerForm& form) {
  form.is_tied = reader.is_next("tied_output");
  ArgumentReader arguments(reader.take(form.is_tied ? "tied_output" : "linear"));
  if (form.is_tied) return;
  if (!arguments.take_word("classes") || !arguments.take_word("no_bias"))
    FormReader::refuse("their output is \"tied_output\" or \"linear classes no_bias\"");
}

}  // namespace

TransformerForm read_form(const std::string& specification) {
  const std::vector<LayerText> layers = parse_specification(specification);
  TransformerForm form;
  FormReader reader(layers, form, form.embedding_dropout);
  ArgumentReader arguments(reader.take("embedding"));
  form.width = arguments.take_count("the number of channels", 1, kMost);
  form.is_llama = !arguments.take_word("positions");
  if (!form.is_llama) form.positions = arguments.take_count("the number of positions", 1, kMost);
  while (reader.is_next("residual")) {
    const LayerText &attention = reader.take("residual"), &dense = reader.take("residual");
    if (attention.has_shortcut || dense.has_shortcut) FormReader::refuse("a residual block has layers after a '|'");
    read_attention(attention, form, form.layers == 0);
    read_dense(dense, form);
    ++form.layers;
  }
  if (form.layers == 0) FormReader::refuse("it has no residual blocks behind its embedding");
  check_biases(form);
  reader.take_norm();
  read_output(reader, form);
  reader.finish();
  return form;
}

}  // namespace eave
