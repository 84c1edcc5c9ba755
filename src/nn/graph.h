// A model as a list of layers, with skips over parts of it and the places of its tensors in the arenas.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/layer.h"

namespace eave {

// A gap between a layer's tensors, relative to the layer's slice.
struct Padding {
  std::int64_t begin = 0, size = 0;
};

// Activation 0 is the model's input; node i makes activation i + 1.
struct Node {
  std::unique_ptr<Layer> layer;
  std::string name;  // "conv1"; "" for layers without tensors
  // The activation that this node reads. It is that of the node before, unless a shortcut begins here.
  int source = 0;
  ImageShape input;
  int skip = -1;  // the activation that this node adds; -1: none
  ImageShape skip_shape;
  int skip_stride = 1;
  std::int64_t parameters_at = 0, parameters_size = 0;
  std::int64_t statistics_at = 0, statistics_size = 0;
  std::vector<Padding> padding;  // in the parameters
  // The node before whose parameters this one reads; it has none of its own then. -1: none.
  int borrows = -1;
  bool lends = false;  // a later node borrows the parameters
  // Whether the skip must be subsampled and widened before it is added.
  bool has_projection() const { return skip >= 0 && !(skip_shape == layer->output()); }
  ShortcutShape projection(std::int64_t samples) const { return {samples, skip_shape, layer->output(), skip_stride}; }
};

struct Graph {
  std::string specification;  // the text that it was built from
  ImageShape input;
  std::vector<Node> nodes;
  std::vector<TensorInfo> parameters, statistics;
  std::int64_t parameter_size = 0, statistics_size = 0;
  std::int64_t targets = 1;   // labels per sample
  bool reads_tokens = false;  // the input is numbers of tokens, which are classes too
};

// Throws Error: kUsage if the text cannot be read, kConfiguration if layers do not fit. `fuse`: layers absorb the work
// of layers that follow. Without it, for tests, each layer stands alone.
Graph build_graph(const std::string& specification, ImageShape input, int classes, bool fuse = true);

// Floating-point operations of forward and backward for each token of a language model: 6 N + 12 L H Q T, as in
// Chowdhery et al. 2022 (PaLM), appendix B. N are the weights of linear layers, and the table of tokens if the output
// multiplies by it. A table that is only looked up does not count. L H Q is the sum of all heads' widths over all
// attention layers, and T the number of positions. Neither the causal mask, which allows half of it to be left out, nor
// biases, norms and activations count.
double training_flops_per_token(const Graph& graph);

// A table: layer, output shape, parameters.
std::string summarise(const Graph& graph);

}  // namespace eave
