#include "nn/conventions.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/options/number_text.h"
#include "eave/compute.h"
#include "nn/specification.h"

namespace eave {
namespace {

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
    "max_pool: stride is the size unless given; padding, on all four sides, is never the largest; windows that do not "
    "fit are left out (rounded down)";
constexpr const char* kAveragePool =
    "average_pool: stride is the size unless given; zeros of the padding, on all four sides, count as values; windows "
    "that do not fit are left out (rounded down)";
constexpr const char* kLocalResponseNorm =
    "local_response_norm: x / (bias + alpha sum x^2)^beta over 2 radius + 1 channels, unless given radius 2, alpha "
    "0.0001, beta 0.75, bias 2; PyTorch's LocalResponseNorm has size = 2 radius + 1, alpha = size times this alpha, k "
    "= "
    "bias";
constexpr const char* kDropout = "dropout P: nothing in evaluation; in training values that stay are divided by 1 - P";

}  // namespace

std::string conventions_of(const std::string& specification, const Graph& graph, TensorLayout layout) {
  const bool is_pytorch = layout == TensorLayout::kPytorch;
  std::set<std::string> words;
  collect_words(parse_specification(specification), words);
  std::vector<std::string> lines;
  if (words.contains("conv2d")) lines.emplace_back(kConvolution);
  if (words.contains("batch_norm")) lines.push_back(batch_norm(is_pytorch));
  if (pads_channels(graph)) lines.emplace_back(kPaddedShortcut);
  if (words.contains("max_pool")) lines.emplace_back(kMaxPool);
  if (words.contains("average_pool")) lines.emplace_back(kAveragePool);
  if (words.contains("local_response_norm")) lines.emplace_back(kLocalResponseNorm);
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
