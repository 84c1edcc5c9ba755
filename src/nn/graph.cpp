// Builds the graph of a model from its text.
#include "nn/graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include "eave/check.h"

namespace eave {
namespace {

constexpr std::int64_t kLargestOutput = std::int64_t{1} << 28;  // floats per sample: 1 GiB

const LayerKind& kind_of(const LayerText& text) {
  const auto& kinds = layer_kinds();
  return *std::find_if(kinds.begin(), kinds.end(), [&](const LayerKind& kind) { return kind.name == text.word; });
}

class Builder {
 public:
  Builder(ImageShape input, int classes, bool fuse) : shape_(input), classes_(classes), fuse_(fuse) {
    graph_.input = input;
  }

  Graph build(const std::vector<LayerText>& texts) {
    add_all(texts);
    check_outputs(texts.back());
    for (Node& node : graph_.nodes) place_tensors(node);
    for (const Node& node : graph_.nodes) tell_parts(node);
    tell_output();
    if (graph_.parameters.empty()) {
      throw Error(ExitCode::kConfiguration, "model: it has no layer with parameters; add a dense or conv2d layer");
    }
    return std::move(graph_);
  }

 private:
  void add_all(const std::vector<LayerText>& texts) {
    const LayerText* turn = nullptr;  // the rotary layer before
    for (const LayerText& text : texts) {
      const AttentionShape turned = turn != nullptr ? heads_of_last() : AttentionShape();
      if (turn != nullptr && text.word != "attention") refuse_turn(*turn, turned);
      text.word == "residual" ? add_block(text) : add(text);
      if (turn != nullptr && (heads_of_last().heads != turned.heads || heads_of_last().groups != turned.groups))
        refuse_turn(*turn, turned);
      turn = text.word == "rotary" ? &text : nullptr;
    }
    if (turn != nullptr) refuse_turn(*turn, heads_of_last());
  }

  AttentionShape heads_of_last() const { return graph_.nodes.back().layer->place_role().heads; }

  // Attention that cuts the turned channels into other heads would not see how far its positions lie apart.
  [[noreturn]] static void refuse_turn(const LayerText& text, const AttentionShape& turned) {
    const std::string groups = turned.groups == turned.heads ? "" : " groups " + std::to_string(turned.groups);
    fail_fit(text, "it turns queries and keys for attention, so \"attention " + std::to_string(turned.heads) + groups +
                       "\" must be the next layer");
  }

  void add(const LayerText& text) {
    if (fuse_ && graph_.nodes.size() > barrier_ && graph_.nodes.back().layer->absorb(text)) {
      shape_ = graph_.nodes.back().layer->output();
      return;
    }
    if (text.word == "embedding") begin_tokens(text);
    if (graph_.reads_tokens && kind_of(text).mixes_positions) refuse_mixing(text);
    std::unique_ptr<Layer> layer = kind_of(text).make({text, shape_, classes_});
    check_size(text, layer->output());
    if (text.word == "tied_output") check_table(text);
    if (layer->is_view()) {
      barrier_ = graph_.nodes.size();
      shape_ = layer->output();
      return;
    }
    push(text, std::move(layer));
    if (text.word == "tied_output") borrow_table(text);
  }

  void begin_tokens(const LayerText& text) {
    if (!graph_.nodes.empty() || depth_ > 0)
      fail_fit(text, "it reads the data's tokens, so it must be the first layer, outside of a residual block");
    graph_.reads_tokens = true;
  }

  [[noreturn]] static void refuse_mixing(const LayerText& text) {
    fail_fit(text,
             "behind an embedding its outputs would depend on later tokens, which the model is to predict; a "
             "model of text uses linear, layer_norm or rms_norm, and attention");
  }

  // The table of the embedding, which is the first node.
  void check_table(const LayerText& text) const {
    if (!graph_.reads_tokens) fail_fit(text, "it uses the table of an embedding, and the model has none");
    const int width = graph_.nodes.front().layer->output().channels;
    if (shape_.channels == width) return;
    fail_fit(text, "the embedding's vectors have " + std::to_string(width) + " numbers, but its input has " +
                       std::to_string(shape_.channels) + " channels");
  }
  void borrow_table(const LayerText& text) {
    if (graph_.nodes.front().lends) fail_fit(text, "the model has a tied_output already");
    graph_.nodes.back().borrows = 0;
    graph_.nodes.front().lends = true;
  }

  void push(const LayerText& text, std::unique_ptr<Layer> layer) {
    Node node;
    node.source = current_;
    node.input = shape_;
    node.layer = std::move(layer);
    shape_ = node.layer->output();
    if (!node.layer->parameters().empty()) {
      const std::string prefix = (in_shortcut_ ? "shortcut_" : "") + kind_of(text).prefix;
      node.name = prefix + std::to_string(++numbers_[prefix]);
    }
    graph_.nodes.push_back(std::move(node));
    current_ = static_cast<int>(graph_.nodes.size());
  }

  // A block's layers are never absorbed by a layer before the block, because the skip starts between them.
  void add_block(const LayerText& text) {
    if (!text.arguments.empty()) fail_layer(text, "\"" + text.arguments.front() + "\" is not understood here");
    const int begin = current_;
    const ImageShape skip = shape_;
    barrier_ = graph_.nodes.size();
    ++depth_;
    add_all(text.body);
    --depth_;
    if (current_ == begin) {
      fail_layer(text,
                 text.has_shortcut ? "there are no layers before its '|'" : "there are no layers in its parentheses");
    }
    if (text.has_shortcut) {
      add_shortcut(text, begin, skip);
    } else {
      add_sum(text, begin, skip, skip_stride(text, skip));
    }
  }

  // The shortcut's layers come after the body's, so the tensors of both are in the order of the text. The last node
  // then adds the body's output to theirs.
  void add_shortcut(const LayerText& text, int begin, ImageShape input) {
    const int body = current_;
    const ImageShape body_shape = shape_;
    const bool outer = std::exchange(in_shortcut_, true);
    current_ = begin;
    shape_ = input;
    barrier_ = graph_.nodes.size();
    add_all(text.shortcut);
    in_shortcut_ = outer;
    if (text.shortcut.empty()) fail_layer(text, "there are no layers after its '|'");
    if (shape_ != body_shape) {
      fail_fit(text, "its layers turn " + to_string(input) + " into " + to_string(body_shape) +
                         ", but those after '|' into " + to_string(shape_) +
                         ": their outputs are added and must have one shape");
    }
    add_sum(text, body, body_shape, 1);
  }

  void add_sum(const LayerText& text, int skip, ImageShape skip_shape, int stride) {
    const bool merged = fuse_ && graph_.nodes.size() > barrier_ && graph_.nodes.back().layer->absorb(text);
    if (!merged) push(text, kind_of(text).make({text, shape_, classes_}));
    Node& sum = graph_.nodes.back();
    sum.skip = skip;
    sum.skip_shape = skip_shape;
    sum.skip_stride = stride;
  }

  int skip_stride(const LayerText& text, ImageShape skip) const {
    const int stride = (skip.height + shape_.height - 1) / shape_.height;
    const bool fits = (skip.height + stride - 1) / stride == shape_.height &&
                      (skip.width + stride - 1) / stride == shape_.width && shape_.channels >= skip.channels &&
                      (shape_.channels - skip.channels) % 2 == 0;
    if (!fits) {
      fail_fit(text, "its layers turn " + to_string(skip) + " into " + to_string(shape_) +
                         ", which cannot be added to the block's input: keep the shape, divide height and width by the "
                         "same stride and add an even number of channels, or give the shortcut layers after a '|'");
    }
    return stride;
  }

  void check_size(const LayerText& text, ImageShape output) const {
    if (output.size() <= kLargestOutput) return;
    fail_fit(text, "its output of " + to_string(output) + " numbers for each sample is too large");
  }

  void check_outputs(const LayerText& last) {
    if (shape_.size() == classes_) return;
    if (graph_.reads_tokens && shape_.channels == classes_) {
      graph_.targets = std::int64_t{1} * shape_.height * shape_.width;
      return;
    }
    if (graph_.reads_tokens) {
      fail_fit(last, "the model gives " + to_string(shape_) + " outputs, but the data has " + std::to_string(classes_) +
                         " tokens; end with \"tied_output\" or \"linear classes\"");
    }
    fail_fit(last, "the model gives " + to_string(shape_) + " outputs, but the data has " + std::to_string(classes_) +
                       " classes; end with \"dense classes\"");
  }

  void place_tensors(Node& node) {
    node.parameters_at = graph_.parameter_size;
    node.parameters_size = append(node.name, node.layer->parameters(), graph_.parameters, graph_.parameter_size);
    node.statistics_at = graph_.statistics_size;
    node.statistics_size = append(node.name, node.layer->statistics(), graph_.statistics, graph_.statistics_size);
    for (const TensorInfo& tensor : node.layer->parameters()) {
      const std::int64_t gap = aligned(tensor.size) - tensor.size;
      if (gap > 0) node.padding.push_back({tensor.offset + tensor.size, gap});
    }
  }

  static std::int64_t append(const std::string& name, std::vector<TensorInfo> tensors, std::vector<TensorInfo>& all,
                             std::int64_t& end) {
    const std::int64_t size = lay_out(tensors);
    for (TensorInfo& tensor : tensors) {
      tensor.name = name + "." + tensor.name;
      tensor.offset += end;
      all.push_back(std::move(tensor));
    }
    end += size;
    return size;
  }

  // The layer's first tensor if it is a matrix or the kernel of a convolution, else nullptr.
  TensorInfo* matrix_of(const Node& node) {
    if (node.parameters_size == 0) return nullptr;
    TensorInfo& tensor = *std::ranges::lower_bound(graph_.parameters, node.parameters_at, {}, &TensorInfo::offset);
    return tensor.shape.size() >= 2 ? &tensor : nullptr;
  }

  // If the layer's input has parts, so has the matrix that gives it. Layers without parameters may lie between them.
  void tell_parts(const Node& node) {
    const std::vector<std::int64_t> parts = node.layer->input_parts();
    if (parts.empty()) return;
    const auto maker_of = [&](int activation) -> const Node* {
      return activation > 0 ? &graph_.nodes[static_cast<std::size_t>(activation - 1)] : nullptr;
    };
    const Node* maker = maker_of(node.source);
    while (maker != nullptr && maker->parameters_size == 0 && maker->skip < 0) maker = maker_of(maker->source);
    TensorInfo* const matrix = maker != nullptr ? matrix_of(*maker) : nullptr;
    const std::int64_t columns = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    if (matrix != nullptr && matrix->shape.back() == columns) matrix->parts = parts;
  }

  // The last layer with a matrix gives the outputs. A tied output has the embedding's table instead.
  void tell_output() {
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend() && node->borrows < 0; ++node) {
      TensorInfo* const matrix = matrix_of(*node);
      if (matrix == nullptr) continue;
      matrix->is_output = true;
      return;
    }
  }

  Graph graph_;
  ImageShape shape_;  // shape of the activation that the next layer reads
  int current_ = 0;   // index of that activation
  bool in_shortcut_ = false;
  int depth_ = 0;  // of residual blocks around the layer
  int classes_;
  bool fuse_;
  std::size_t barrier_ = 0;  // nodes before this one may not absorb layers any more
  std::map<std::string, int> numbers_;
};

std::string pad(std::string text, std::size_t width) {
  // Counts characters, not bytes: "×" has two.
  const auto length = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  return text + std::string(length < width ? width - length : 0, ' ');
}

double size_of_weight(const Node& node) {
  for (const TensorInfo& tensor : node.layer->parameters())
    if (tensor.name == "weight") return static_cast<double>(tensor.size);
  return 0;
}

}  // namespace

Graph build_graph(const std::string& specification, ImageShape input, int classes, bool fuse) {
  Graph graph = Builder(input, classes, fuse).build(parse_specification(specification));
  graph.specification = specification;
  return graph;
}

double training_flops_per_token(const Graph& graph) {
  double weights = 0, attention = 0;
  for (const Node& node : graph.nodes) {
    if (node.borrows >= 0) weights += size_of_weight(graph.nodes[static_cast<std::size_t>(node.borrows)]);
    if (node.name.starts_with("linear")) weights += size_of_weight(node);
    const ImageShape output = node.layer->output();
    if (node.layer->describe().starts_with("attention"))
      attention += static_cast<double>(output.channels) * output.height;
  }
  return 6 * weights + 12 * attention;
}

std::string summarise(const Graph& graph) {
  std::ostringstream table;
  std::int64_t total = 0;
  table << pad("layer", 52) << pad("output", 16) << "parameters\n";
  table << pad("input", 52) << pad(to_string(graph.input), 16) << "\n";
  for (const Node& node : graph.nodes) {
    std::int64_t count = 0;
    for (const TensorInfo& tensor : node.layer->parameters()) count += tensor.size;
    total += count;
    const std::string name = node.name.empty() ? "" : node.name + ": ";
    table << pad(name + node.layer->describe(), 52) << pad(to_string(node.layer->output()), 16) << count << "\n";
  }
  table << pad("total", 68) << total << "\n";
  return table.str();
}

}  // namespace eave
