#include "nn/empty_pass.h"

#include <algorithm>

namespace eave {

EmptyPass::EmptyPass(const Graph& graph, Compute& compute) : graph_(graph), plans_(graph.nodes.size()) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const Layer& layer = *graph.nodes[i].layer;
    if (!layer.spans_ranks()) continue;
    plans_[i] = layer.plan(compute, {0, true, false});
    saved_.resize(std::max(saved_.size(), static_cast<std::size_t>(plans_[i]->saved_size())));
  }
}

void EmptyPass::forward(const StepCall& call) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (!plans_[i]) continue;
    const Node& node = graph_.nodes[i];
    ForwardCall own{};
    own.training = true;
    own.parameters = of_node(call.parameters, node.parameters_at, node.parameters_size);
    own.moving_statistics = of_node(call.moving_statistics, node.statistics_at, node.statistics_size);
    own.saved = Slice(saved_).first(static_cast<std::size_t>(plans_[i]->saved_size()));
    own.ranks = call.ranks;
    plans_[i]->forward(own);
  }
}

void EmptyPass::backward(const StepCall& call, Slice gradients, const std::function<void(Slice)>& ready) {
  for (std::size_t i = plans_.size(); i-- > 0;) {
    const Node& node = graph_.nodes[i];
    if (node.parameters_size == 0) continue;
    const Slice d_parameters = of_node(gradients, node.parameters_at, node.parameters_size);
    if (plans_[i]) {
      BackwardCall own{};
      own.parameters = of_node(call.parameters, node.parameters_at, node.parameters_size);
      own.saved = Slice(saved_).first(static_cast<std::size_t>(plans_[i]->saved_size()));
      own.d_parameters = d_parameters;
      own.ranks = call.ranks;
      plans_[i]->backward(own);
    }
    ready(d_parameters);
  }
}

}  // namespace eave
