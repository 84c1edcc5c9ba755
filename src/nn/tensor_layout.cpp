#include "nn/tensor_layout.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/options/number_text.h"
#include "device/operations.h"
#include "eave/check.h"
#include "nn/huggingface.h"
#include "nn/specification.h"

namespace eave {
namespace {

// The order in which channels are stored: that of a flattened image of this shape. 1 × 1 × n: as the layer made them.
using ChannelOrder = ImageShape;

bool is_flat(ImageShape shape) { return shape.height == 1 && shape.width == 1; }

bool makes_channels(const Node& node) {
  const std::vector<TensorInfo> tensors = node.layer->parameters();
  return !tensors.empty() && tensors.front().shape.size() > 1;
}

// Follows the channels of activations through the graph.
class ChannelOrders {
 public:
  explicit ChannelOrders(const Graph& graph) : graph_(graph), of_activation_{{1, 1, graph.input.channels}} {
    for (const Node& node : graph.nodes) add(node);
  }
  ChannelOrder read_by(std::size_t node) const { return read_by_[node]; }

 private:
  void add(const Node& node) {
    const ImageShape output = node.layer->output();
    const ChannelOrder read = order_of(node.source, node.input);
    const ChannelOrder made = makes_channels(node) ? ChannelOrder{1, 1, output.channels} : read;
    if (!is_flat(output) && !is_flat(made)) refuse("an image whose channels are the pixels of another");
    if (node.layer->reads_neighbours() && !is_flat(read)) refuse("a norm over neighbours among what was flattened");
    if (node.skip >= 0) {
      const ChannelOrder skip = order_of(node.skip, node.skip_shape);
      if (!(is_flat(skip) && is_flat(made)) && !(skip == made)) refuse("a sum of what was flattened differently");
    }
    read_by_.push_back(read);
    of_activation_.push_back(made);
  }

  // The order of the activation's channels for a layer that reads it in the shape `seen`.
  ChannelOrder order_of(int activation, ImageShape seen) const {
    const auto index = static_cast<std::size_t>(activation);
    const ImageShape shape = index == 0 ? graph_.input : graph_.nodes[index - 1].layer->output();
    if (shape == seen) return of_activation_[index];
    return shape.channels == 1 ? seen : shape;
  }

  [[noreturn]] static void refuse(const std::string& what) {
    throw Error(ExitCode::kConfiguration, "this model cannot be written in PyTorch's layout: it has " + what);
  }

  const Graph& graph_;
  std::vector<ChannelOrder> of_activation_, read_by_;
};

std::string pytorch_name(const std::string& name) {
  static const std::map<std::string, std::string> names = {
      {"scale", "weight"}, {"shift", "bias"}, {"mean", "running_mean"}, {"variance", "running_var"}};
  const std::size_t word = name.rfind('.') + 1;
  const auto found = names.find(name.substr(word));
  return found == names.end() ? name : name.substr(0, word) + found->second;
}

void append(StoredTensor& tensor, std::int64_t extent, std::int64_t stride) {
  tensor.extents.push_back(extent);
  tensor.strides.push_back(stride);
}

// Values are stored as [height, width, channel], `unit` floats apart. Appends the axes that read them in the order
// channel, height, width.
void append_channels_first(StoredTensor& tensor, ChannelOrder order, std::int64_t unit) {
  append(tensor, order.channels, unit);
  append(tensor, order.height, unit * order.width * order.channels);
  append(tensor, order.width, unit * order.channels);
}

// In a model of text, whose windows PyTorch flattens as eave does. `is_table`: of the embedding, which is not turned.
void turn_of_text(StoredTensor& tensor, bool is_table) {
  tensor.name = pytorch_name(tensor.name);
  if (is_table || tensor.shape.size() == 1) return;
  const std::int64_t inputs = tensor.shape[0], outputs = tensor.shape[1];
  tensor.shape = tensor.extents = {outputs, inputs};
  tensor.strides = {1, outputs};
}

void turn(StoredTensor& tensor, const Node& node, ChannelOrder read) {
  const std::vector<std::int64_t> shape = tensor.shape;
  tensor.name = pytorch_name(tensor.name);
  tensor.extents.clear();
  tensor.strides.clear();
  if (shape.size() == 1) {
    if (makes_channels(node)) return append(tensor, tensor.size, 1);
    return append_channels_first(tensor, read, 1);
  }
  const std::int64_t outputs = shape.back();
  append(tensor, outputs, 1);
  if (shape.size() == 2) {
    tensor.shape = {outputs, shape[0]};
    append_channels_first(tensor, is_flat(node.input) ? read : node.input, outputs);
  } else {
    tensor.shape = {outputs, shape[2], shape[0], shape[1]};
    append_channels_first(tensor, read, outputs);
    append(tensor, shape[0], outputs * shape[2] * shape[1]);
    append(tensor, shape[1], outputs * shape[2]);
  }
}

// For each value of the file, in order, calls `visit` with its index and its place in the arena.
template <class Visit>
void for_each_place(const StoredTensor& tensor, Visit visit) {
  std::vector<std::int64_t> index(tensor.extents.size());
  std::int64_t place = tensor.offset;
  for (std::int64_t i = 0; i < tensor.size; ++i) {
    visit(static_cast<std::size_t>(i), static_cast<std::size_t>(place));
    for (std::size_t axis = index.size(); axis-- > 0;) {
      place += tensor.strides[axis];
      if (++index[axis] < tensor.extents[axis]) break;
      place -= tensor.strides[axis] * tensor.extents[axis];
      index[axis] = 0;
    }
  }
}

void collect_words(const std::vector<LayerText>& layers, std::set<std::string>& words) {
  for (const LayerText& layer : layers) {
    words.insert(layer.word);
    collect_words(layer.body, words);
    collect_words(layer.shortcut, words);
  }
}

bool pads_channels(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.has_projection(); });
}

// Whether the model has a layer that reads all values of an image at once, as a dense layer does.
bool flattens(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const ImageShape output = node.layer->output();
    return node.input.height * node.input.width > 1 && output.height * output.width == 1 &&
           !node.layer->parameters().empty() && node.layer->parameters().front().shape.size() == 2;
  });
}

std::string batch_norm(bool is_pytorch) {
  const std::string epsilon = number_text(1e-5), share = number_text(0.1);
  static_assert(kBatchNormEpsilon == 1e-5f && kBatchNormMomentum == 0.1f);
  return std::string("batch_norm: (x - ") + (is_pytorch ? "running_mean" : "mean") + ") / sqrt(" +
         (is_pytorch ? "running_var" : "variance") + " + " + epsilon + ") * " + (is_pytorch ? "weight" : "scale") +
         " + " + (is_pytorch ? "bias" : "shift") +
         "; variances are unbiased (divided by N - 1); in training the running ones move by " + share +
         " towards a batch's, which is itself normalised by its biased variance";
}

constexpr const char* kPaddedShortcut =
    "residual without layers of its shortcut, where channels become more: x[::S, ::S] (S the stride of the block) with "
    "(outputs - inputs) / 2 channels of zeros before and as many behind x's own (option A of He et al. 2016); in "
    "PyTorch "
    "F.pad(x[:, :, ::S, ::S], (0, 0, 0, 0, n, n)) with n = (outputs - inputs) // 2";
constexpr const char* kConvolution =
    "conv2d: cross-correlation, kernels are not flipped; pad P adds P zeros on each of the four sides; outputs = "
    "(inputs "
    "+ 2 P - size) / stride + 1, rounded down";
constexpr const char* kMaxPool =
    "max_pool: stride, on both axes, is the height of the window unless given; padding, on all four sides, is never "
    "the largest; windows that do not "
    "fit are left out (rounded down)";
constexpr const char* kAveragePool =
    "average_pool: stride, on both axes, is the height of the window unless given; zeros of the padding, on all four "
    "sides, count as values; windows "
    "that do not fit are left out (rounded down)";
constexpr const char* kLocalResponseNorm =
    "local_response_norm: x / (bias + alpha sum x^2)^beta over 2 radius + 1 channels, unless given radius 2, alpha "
    "0.0001, beta 0.75, bias 2; PyTorch's LocalResponseNorm has size = 2 radius + 1, alpha = size times this alpha, k "
    "= "
    "bias";
constexpr const char* kDropout = "dropout P: nothing in evaluation; in training values that stay are divided by 1 - P";
constexpr const char* kLeakyRelu = "leaky_relu S: x if x > 0, else S x; S is 0.01 unless given";
constexpr const char* kGelu = "gelu: x (1 + erf(x / sqrt 2)) / 2";
// The layers of windows of tokens, by word.
constexpr std::array<std::pair<const char*, const char*>, 8> kTokenLayers = {{
    {"embedding", "embedding: weight[token] + positions[place in the window, from 0]"},
    {"linear", "linear: x times the weights, over the channels of each position"},
    {"layer_norm",
     "layer_norm: each position over its channels, by the biased variance plus epsilon (0.00001 unless given)"},
    {"rms_norm",
     "rms_norm: x / sqrt(mean square of the position's channels + epsilon, 0.00001 unless given) times the scale"},
    {"attention",
     "attention H groups G: the channels are the queries of H heads, then the keys and then the values of G groups (G "
     "is H unless given); causal; scores are divided by the root of a head's channels"},
    {"gated", "gated F: F(first half of the channels) times the second half"},
    {"rotary",
     "rotary H groups G base B stretch S: pairs (i, i + half) of each head's queries and keys are turned by place * "
     "B^(-2i / channels of a head) / S; B is 10000 and S 1 unless given. With low L high H trained P, as in Llama 3.1: "
     "a pair that turns n times in P places is not stretched if n >= H, and stretched if n <= L; between, its angle is "
     "the mean of both with weights n - L and H - n"},
    {"tied_output", "tied_output: x times the transposed weight of the embedding"},
}};
constexpr const char* kGeluTanh = "gelu_tanh: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2";

}  // namespace

std::vector<StoredTensor> stored_tensors(const Graph& graph, TensorLayout layout) {
  if (layout == TensorLayout::kHuggingface) return huggingface_tensors(graph, read_form(graph.specification), false);
  std::vector<StoredTensor> stored;
  const auto add = [&](const std::vector<TensorInfo>& tensors, bool are_statistics) {
    for (const TensorInfo& tensor : tensors) {
      stored.push_back(
          {tensor.name, tensor.shape, are_statistics, tensor.offset, tensor.size, {tensor.size}, {std::int64_t{1}}});
    }
  };
  add(graph.parameters, false);
  add(graph.statistics, true);
  if (layout == TensorLayout::kEave) return stored;
  const ChannelOrders orders(graph);
  std::map<std::string, std::size_t> nodes;  // by name
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) nodes[graph.nodes[i].name] = i;
  for (StoredTensor& tensor : stored) {
    const std::size_t node = nodes.at(tensor.name.substr(0, tensor.name.rfind('.')));
    if (graph.reads_tokens) {
      turn_of_text(tensor, node == 0);
    } else {
      turn(tensor, graph.nodes[node], orders.read_by(node));
    }
  }
  return stored;
}

std::vector<float> gather(const StoredTensor& tensor, ConstSlice arena) {
  std::vector<float> values(static_cast<std::size_t>(tensor.size));
  for_each_place(tensor, [&](std::size_t i, std::size_t place) { values[i] = arena[place]; });
  return values;
}

void scatter(const StoredTensor& tensor, ConstSlice values, Slice arena) {
  for_each_place(tensor, [&](std::size_t i, std::size_t place) { arena[place] = values[i]; });
}

std::string conventions_of(const std::string& specification, const Graph& graph, TensorLayout layout) {
  const bool is_pytorch = layout != TensorLayout::kEave;
  std::set<std::string> words;
  collect_words(parse_specification(specification), words);
  std::vector<std::string> lines;
  if (words.contains("conv2d")) lines.emplace_back(kConvolution);
  if (words.contains("batch_norm")) lines.push_back(batch_norm(is_pytorch));
  if (pads_channels(graph)) lines.emplace_back(kPaddedShortcut);
  if (words.contains("max_pool")) lines.emplace_back(kMaxPool);
  if (words.contains("average_pool")) lines.emplace_back(kAveragePool);
  if (words.contains("local_response_norm")) lines.emplace_back(kLocalResponseNorm);
  if (words.contains("leaky_relu")) lines.emplace_back(kLeakyRelu);
  if (words.contains("gelu")) lines.emplace_back(kGelu);
  if (words.contains("gelu_tanh")) lines.emplace_back(kGeluTanh);
  for (const auto& [word, convention] : kTokenLayers) {
    if (words.contains(word)) lines.emplace_back(convention);
  }
  if (words.contains("dropout")) lines.emplace_back(kDropout);
  if (flattens(graph)) {
    lines.push_back(std::string("images are flattened in the order ") +
                    (is_pytorch ? "channel, height, width" : "height, width, channel"));
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace eave
