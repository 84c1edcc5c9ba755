// The named models, and the help for a misspelt name.
#include <limits>

#include "base/options/quantities.h"
#include "base/options/spelling.h"
#include "base/printable.h"
#include "eave/check.h"
#include "eave/model.h"
#include "nn/layer.h"
#include "nn/specification.h"
#include "nn/transformer_form.h"

namespace eave {
namespace {

struct NamedModel {
  const char* name;
  std::string text;
  int crop = 0;  // side of the square images that the model is made for; 0: any
};

// He et al. 2016, section 4.2, n = 3: three stages of three blocks with 16, 32 and 64 channels; shortcuts of option A,
// zeros on both sides of the channels.
std::string resnet20() {
  std::string text = "conv2d 16 3x3 pad 1 no_bias; batch_norm; relu; ";
  for (const int channels : {16, 32, 64}) {
    for (int block = 0; block < 3; ++block) {
      const std::string layer = "conv2d " + std::to_string(channels) + " 3x3 pad 1 no_bias";
      const bool shrinks = channels > 16 && block == 0;
      text +=
          "residual(" + layer + (shrinks ? " stride 2" : "") + "; batch_norm; relu; " + layer + "; batch_norm); relu; ";
    }
  }
  return text + "global_pool; dense classes";
}

// He et al. 2016, table 1, for images of 224 × 224 × 3: four stages of two blocks; shortcuts of option B.
std::string resnet18() {
  std::string text = "conv2d 64 7x7 stride 2 pad 3 no_bias; batch_norm; relu; max_pool 3 stride 2 pad 1; ";
  for (const int channels : {64, 128, 256, 512}) {
    const std::string width = std::to_string(channels), layer = "conv2d " + width + " 3x3 pad 1 no_bias";
    for (int block = 0; block < 2; ++block) {
      const bool shrinks = channels > 64 && block == 0;
      text += "residual(" + layer + (shrinks ? " stride 2" : "") + "; batch_norm; relu; " + layer + "; batch_norm";
      if (shrinks) text += " | conv2d " + width + " 1x1 stride 2 no_bias; batch_norm";
      text += "); relu; ";
    }
  }
  return text + "global_pool; dense classes";
}

// He et al. 2016, table 1, for images of 224 × 224 × 3: four stages of bottleneck blocks, with shortcuts of option B.
// The last layer of each block is four times as wide. The 3 × 3 convolution has the stride, as in torchvision (version
// 1.5 of the model).
std::string resnet50() {
  std::string text = "conv2d 64 7x7 stride 2 pad 3 no_bias; batch_norm; relu; max_pool 3 stride 2 pad 1; ";
  int width = 64;
  for (const int blocks : {3, 4, 6, 3}) {
    const std::string narrow = std::to_string(width), wide = std::to_string(4 * width);
    for (int block = 0; block < blocks; ++block) {
      const std::string stride = width > 64 && block == 0 ? " stride 2" : "";
      text += "residual(conv2d " + narrow + " 1x1 no_bias; batch_norm; relu; conv2d " + narrow + " 3x3" + stride +
              " pad 1 no_bias; batch_norm; relu; conv2d " + wide + " 1x1 no_bias; batch_norm";
      if (block == 0) text += " | conv2d " + wide + " 1x1" + stride + " no_bias; batch_norm";
      text += "); relu; ";
    }
    width *= 2;
  }
  return text + "global_pool; dense classes";
}

// A transformer as in GPT-2 (Radford et al. 2019) and nanoGPT: pre-norm blocks, learned positions, an output that
// shares the table of tokens. Weights begin normal with a deviation of 0.02; those that write into the residual stream
// are divided by the root of the number of such layers. GPT-2 has biases, nanoGPT's small models have none.
TransformerForm gpt2_form(int layers, int heads, int width, int context) {
  TransformerForm form;
  form.layers = layers;
  form.heads = form.groups = heads;
  form.width = width;
  form.head_width = width / heads;
  form.inner = 4 * width;
  form.positions = context;
  form.is_tied = true;
  form.epsilon = 1e-5f;
  return form;
}

std::string with_scaled_branches(const TransformerForm& form) {
  constexpr double kUsual = 0.02;
  return model_text(form, {kUsual, scaled_branch_deviation(kUsual, form.layers)});
}

// nanoGPT's configurations for a CPU and for train_shakespeare_char.
std::string nanogpt_cpu() { return with_scaled_branches(gpt2_form(4, 4, 128, 64)); }

std::string nanogpt_char() {
  TransformerForm form = gpt2_form(6, 6, 384, 256);
  form.embedding_dropout = form.attention_dropout = form.branch_dropout = 0.2f;
  return with_scaled_branches(form);
}

std::string gpt2() {
  TransformerForm form = gpt2_form(12, 12, 768, 1024);
  form.biases = {.rows = true, .mixed = true, .dense = true};
  form.norm_has_bias = form.is_approximate = true;
  return with_scaled_branches(form);
}

// A small Llama (Touvron et al. 2023) of the size of llama2.c's stories260K: RMS norm, rotary positions, SwiGLU, and
// eight heads that share the keys and values of four groups.
std::string llama_tiny() {
  TransformerForm form;
  form.is_llama = form.is_tied = true;
  form.layers = 5;
  form.width = 64;
  form.inner = 172;
  form.heads = form.head_width = 8;
  form.groups = 4;
  form.epsilon = 1e-5f;
  return with_scaled_branches(form);
}

const std::vector<NamedModel>& zoo() {
  static const std::string tutorial_norm = "local_response_norm radius 4 alpha 0.000111111111 beta 0.75 bias 1; ";
  static const std::vector<NamedModel> models = {
      {"mlp", "flatten; dense 1024; relu; dense 1024; relu; dense classes"},
      {"lenet",
       "conv2d 32 5x5 pad 2; relu; max_pool 2; conv2d 64 5x5 pad 2; relu; max_pool 2; "
       "flatten; dense 1024; relu; dropout 0.5; dense classes"},
      // Zhang, Choromanska and LeCun 2015, section 5: for crops of 28 × 28 × 3.
      {"cifar7",
       "conv2d 64 5x5; relu; max_pool 2; conv2d 128 5x5; relu; max_pool 2; conv2d 64 3x3; relu; "
       "flatten; dense 256; relu; dropout 0.5; dense classes",
       28},
      // The model of TensorFlow's tutorial for CIFAR-10, after Krizhevsky's cuda-convnet, for crops of 24 × 24 × 3. The
      // tutorial's pools pad only at the right and bottom (sizes are the same). Its weights begin truncated normal,
      // with a deviation per layer. It decays only the weights of the two dense layers in the middle.
      {"tf-cifar10",
       "conv2d 64 5x5 pad 2; relu; max_pool 3 stride 2 pad 1; " + tutorial_norm + "conv2d 64 5x5 pad 2; relu; " +
           tutorial_norm + "max_pool 3 stride 2 pad 1; flatten; dense 384; relu; dense 192; relu; dense classes",
       24},
      // Papernot et al. 2016, table 1, and Carlini and Wagner 2017, table 1: four convolutions and three dense layers,
      // for photographs of 32 × 32 × 3 and larger ones.
      {"cnn7",
       "conv2d 64 3x3; relu; conv2d 64 3x3; relu; max_pool 2; conv2d 128 3x3; relu; conv2d 128 3x3; relu; max_pool 2; "
       "flatten; dense 256; relu; dropout 0.5; dense 256; relu; dense classes"},
      {"resnet18", resnet18()},
      {"resnet20", resnet20()},
      {"resnet50", resnet50()},
      {"nanogpt-cpu", nanogpt_cpu()},
      {"nanogpt-char", nanogpt_char()},
      {"gpt2", gpt2()},
      {"llama-tiny", llama_tiny()},
  };
  return models;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find_first_of(" \t\n\r")); }

// For "resnet": "; did you mean resnet18, resnet20 or resnet50?"
std::string suggest_models(const std::string& word, const std::vector<std::string>& names) {
  constexpr std::size_t kShortest = 3;
  std::vector<std::string> longer;
  for (const std::string& name : model_names()) {
    if (word.size() >= kShortest && name.starts_with(lower_case(word))) longer.push_back(name);
  }
  if (longer.empty()) return did_you_mean(word, names);
  std::string text;
  for (const std::string& name : longer)
    text += (text.empty() ? "; did you mean " : &name == &longer.back() ? " or " : ", ") + name;
  return text + "?";
}

// If the text is a single layer with an unknown name, treats it as a misspelt model name.
void refuse_misspelt_name(const std::string& text) {
  if (text.empty() || text.find_first_of(";()|") != std::string::npos) return;
  const std::string word = first_word(text);
  std::vector<std::string> names = model_names();
  for (const LayerKind& kind : layer_kinds()) {
    if (word == kind.name) return;
    names.push_back(kind.name);
  }
  throw LinesError(ExitCode::kUsage,
                   {"--model " + text + ": there is no such model or folder" + suggest_models(word, names),
                    "Named models are: " + comma_list(model_names()) +
                        "; others are given by their layers, such as \"flatten; dense 100; relu; "
                        "dense classes\""});
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const NamedModel& model : zoo()) names.emplace_back(model.name);
  return names;
}

int model_crop(const std::string& name_or_text) {
  for (const NamedModel& model : zoo()) {
    if (trimmed(name_or_text) == model.name) return model.crop;
  }
  return 0;
}

bool model_reads_tokens(const std::string& name_or_text) {
  return parse_specification(model_specification(name_or_text)).front().word == "embedding";
}

int model_context(const std::string& name_or_text) {
  const LayerText first = parse_specification(model_specification(name_or_text)).front();
  ArgumentReader arguments(first);
  if (first.word != "embedding") return 0;
  arguments.take_count("the number of channels", 1, std::numeric_limits<int>::max());
  return arguments.take_word("positions") ? arguments.take_count("positions", 1, std::numeric_limits<int>::max()) : 0;
}

std::string model_specification(const std::string& name_or_text) {
  const std::string text(trimmed(name_or_text));
  for (const NamedModel& model : zoo()) {
    if (text == model.name) return model.text;
  }
  refuse_misspelt_name(text);
  try {
    parse_specification(text);
  } catch (const Error& error) {
    std::vector<std::string> lines = message_lines_of(error);
    lines.push_back("Named models are: " + comma_list(model_names()));
    throw LinesError(error.code(), lines);
  }
  return text;
}

}  // namespace eave
