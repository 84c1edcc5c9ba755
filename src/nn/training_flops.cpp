#include "nn/training_flops.h"

#include "nn/graph.h"

namespace eave {
namespace {

double size_of_weight(const Node& node) {
  for (const TensorInfo& tensor : node.layer->parameters())
    if (tensor.name == "weight") return static_cast<double>(tensor.size);
  return 0;
}

}  // namespace

double training_flops_per_token(const std::string& specification, ImageShape input, int classes) {
  const Graph graph = build_graph(specification, input, classes);
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

}  // namespace eave
