#include "nn/tensor_layout.h"

#include <map>

#include "eave/check.h"

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

}  // namespace

std::vector<StoredTensor> stored_tensors(const Graph& graph, TensorLayout layout) {
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
    turn(tensor, graph.nodes[node], orders.read_by(node));
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

}  // namespace eave
