#include "nn/step_plan.h"

#include <algorithm>

#include "eave/check.h"

namespace eave {
namespace {

Slice at(Slice arena, std::int64_t offset, std::int64_t size) {
  return arena.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

}  // namespace

std::int64_t ArenaPlanner::take(std::int64_t size) {
  const std::int64_t rounded = std::max<std::int64_t>(16, (size + 15) / 16 * 16);
  const auto gap = std::ranges::find_if(gaps_, [&](const auto& each) { return each.second - each.first >= rounded; });
  const auto [offset, gap_end] = *gap;  // there is one: the last gap has no end
  gaps_.erase(gap);
  if (offset + rounded < gap_end) gaps_.emplace(offset + rounded, gap_end);
  taken_.emplace(offset, offset + rounded);
  peak_ = std::max(peak_, offset + rounded);
  return offset;
}

void ArenaPlanner::release(std::int64_t offset) {
  const auto place = taken_.find(offset);
  EAVE_CHECK(place != taken_.end(), "nothing was taken at " + std::to_string(offset));
  std::int64_t begin = offset, end = place->second;
  taken_.erase(place);
  const auto after = gaps_.find(end);
  if (after != gaps_.end()) {
    end = after->second;
    gaps_.erase(after);
  }
  auto before = gaps_.lower_bound(begin);
  if (before != gaps_.begin() && (--before)->second == begin) {
    begin = before->first;
    gaps_.erase(before);
  }
  gaps_.emplace(begin, end);
}

StepPlan::StepPlan(const Graph& graph, Compute& compute, std::int64_t samples, bool training, const LossSettings& loss)
    : graph_(graph),
      compute_(compute),
      samples_(samples),
      training_(training),
      steps_(graph.nodes.size()),
      wants_gradient_(1, false) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool input_gradient = training && wants_gradient_[static_cast<std::size_t>(node.source)];
    const LayerUse use{samples, training, input_gradient};
    if (i + 1 == steps_.size()) plan_loss(use, loss);
    if (last_layer_) {
      wants_gradient_.push_back(true);
      break;
    }
    steps_[i].work = node.layer->plan(compute, use);
    if (node.has_projection()) steps_[i].projection = compute.plan(node.projection(samples));
    scratch_size_ = std::max(scratch_size_, steps_[i].work->scratch_size());
    wants_gradient_.push_back(node.parameters_size > 0 || wants_gradient_[static_cast<std::size_t>(node.source)] ||
                              wants_gradient_[static_cast<std::size_t>(std::max(node.skip, 0))]);
  }
  ArenaPlanner planner;
  scratch_ = planner.take(scratch_size_);
  place_forward(planner);
  if (training) place_backward(planner);
  arena_size_ = planner.peak();
}

void StepPlan::plan_loss(const LayerUse& use, const LossSettings& settings) {
  const float smoothing = training_ ? settings.smoothing : 0;
  if (settings.in_last_layer && graph_.reads_tokens) {
    last_layer_ = graph_.nodes.back().layer->plan_with_loss(compute_, use, smoothing);
  }
  if (last_layer_) {
    scratch_size_ = std::max(scratch_size_, last_layer_->scratch_size());
    return;
  }
  const std::int64_t outputs = graph_.nodes.back().layer->output().size();
  loss_ = compute_.plan(LossShape{samples_ * graph_.targets, outputs / graph_.targets, graph_.targets, smoothing});
  scratch_size_ = std::max(scratch_size_, loss_->scratch_size());
}

const Node& StepPlan::owner_of(std::size_t node) const {
  const int lender = graph_.nodes[node].borrows;
  return graph_.nodes[lender < 0 ? node : static_cast<std::size_t>(lender)];
}

std::int64_t StepPlan::input_size(std::size_t node) const {
  return compute_.activation_size(samples_ * graph_.nodes[node].input.size());
}
std::int64_t StepPlan::output_size(std::size_t node) const {
  return compute_.activation_size(samples_ * graph_.nodes[node].layer->output().size());
}

// For each activation, the last node that reads it; -1: none does.
std::vector<int> StepPlan::last_readers() const {
  std::vector<int> readers(graph_.nodes.size() + 1, -1);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    for (const int activation : {node.source, std::max(node.skip, 0)})
      readers[static_cast<std::size_t>(activation)] = static_cast<int>(i);
  }
  return readers;
}

void StepPlan::place_forward(ArenaPlanner& planner) {
  const std::vector<int> readers = training_ ? std::vector<int>() : last_readers();
  for (std::size_t i = 0; i < count_forward(); ++i) {
    Step& step = steps_[i];
    if (step.projection) step.projected = planner.take(output_size(i));
    step.output = planner.take(output_size(i));
    const std::int64_t saved = step.work->saved_size();
    if (training_ && saved > 0) step.saved = planner.take(saved);
    if (step.projected >= 0) planner.release(step.projected);
    if (!training_) release_last_uses(planner, i, readers);
  }
}

// In evaluation an activation's place is free after the last layer that reads it. Activation 0 has no place.
void StepPlan::release_last_uses(ArenaPlanner& planner, std::size_t node, const std::vector<int>& readers) {
  std::vector<int> read = {graph_.nodes[node].source};
  if (graph_.nodes[node].skip >= 0 && graph_.nodes[node].skip != read[0]) read.push_back(graph_.nodes[node].skip);
  for (const int activation : read) {
    const auto index = static_cast<std::size_t>(activation);
    if (index > 0 && readers[index] == static_cast<int>(node)) planner.release(steps_[index - 1].output);
  }
}

// Gradients reuse the places of activations that backward no longer needs.
void StepPlan::place_backward(ArenaPlanner& planner) {
  if (last_layer_) {
    place_last_gradient(planner);
  } else {
    steps_.back().d_outputs = {planner.take(output_size(steps_.size() - 1))};
  }
  for (std::size_t i = count_forward(); i-- > 0;) {
    if (!wants_gradient_[i + 1]) continue;
    Step& step = steps_[i];
    const Node& node = graph_.nodes[i];
    const auto source = static_cast<std::size_t>(node.source);
    const bool stays = wants_gradient_[source] && step.work->goes_back_in_place();
    if (wants_gradient_[source]) {
      step.d_input = stays ? step.d_outputs.front() : planner.take(input_size(i));
      steps_[source - 1].d_outputs.push_back(step.d_input);
    }
    const auto skip = static_cast<std::size_t>(std::max(node.skip, 0));
    const bool passes_on = node.skip >= 0 && wants_gradient_[skip];
    if (passes_on && step.projection) {
      step.d_projected = planner.take(compute_.activation_size(samples_ * node.skip_shape.size()));
      steps_[skip - 1].d_outputs.push_back(step.d_projected);
    } else if (passes_on) {
      steps_[skip - 1].d_outputs.push_back(step.d_outputs.front());
    }
    const bool keeps_first = stays || (passes_on && !step.projection);
    for (std::size_t k = keeps_first ? 1 : 0; k < step.d_outputs.size(); ++k) planner.release(step.d_outputs[k]);
    planner.release(step.output);
    if (step.saved >= 0) planner.release(step.saved);
  }
}

// The last layer writes it together with the loss, while all activations are still there.
void StepPlan::place_last_gradient(ArenaPlanner& planner) {
  const auto source = static_cast<std::size_t>(graph_.nodes.back().source);
  if (!wants_gradient_[source]) return;
  steps_.back().d_input = planner.take(input_size(steps_.size() - 1));
  steps_[source - 1].d_outputs.push_back(steps_.back().d_input);
}

ConstSlice StepPlan::activation(const StepCall& call, std::size_t index) const {
  return index == 0 ? call.inputs : at(call.arena, steps_[index - 1].output, output_size(index - 1));
}

ConstSlice StepPlan::skip(const StepCall& call, std::size_t index) {
  const Node& node = graph_.nodes[index];
  if (node.skip < 0) return {};
  const ConstSlice from = activation(call, static_cast<std::size_t>(node.skip));
  if (!steps_[index].projection) return from;
  const Slice projected = at(call.arena, steps_[index].projected, output_size(index));
  steps_[index].projection->forward({from, projected, {}});
  return projected;
}

ConstSlice StepPlan::forward(const StepCall& call) {
  const Slice scratch = at(call.arena, scratch_, scratch_size_);
  for (std::size_t i = 0; i < count_forward(); ++i) {
    const Node& node = graph_.nodes[i];
    Step& step = steps_[i];
    const Slice saved = training_ && step.saved >= 0 ? at(call.arena, step.saved, step.work->saved_size()) : Slice();
    const Node& owner = owner_of(i);
    step.work->forward({training_ && call.measured_statistics.empty(),
                        activation(call, static_cast<std::size_t>(node.source)), skip(call, i),
                        of_node(call.parameters, owner.parameters_at, owner.parameters_size),
                        of_node(call.statistics, node.statistics_at, node.statistics_size),
                        of_node(call.moving_statistics, node.statistics_at, node.statistics_size),
                        of_node(call.measured_statistics, node.statistics_at, node.statistics_size),
                        at(call.arena, step.output, output_size(i)), saved, scratch, call.ranks});
  }
  return last_layer_ ? ConstSlice() : activation(call, steps_.size());
}

void StepPlan::compute_loss(const StepCall& call, Slice gradients) {
  if (last_layer_) return run_last_layer(call, gradients);
  const std::size_t last = steps_.size();
  const Slice d_logits = training_ ? at(call.arena, steps_.back().d_outputs.front(), output_size(last - 1)) : Slice();
  loss_->forward({activation(call, last), d_logits, at(call.arena, scratch_, scratch_size_)});
}

void StepPlan::run_last_layer(const StepCall& call, Slice gradients) {
  const std::size_t last = steps_.size() - 1;
  const Node &node = graph_.nodes[last], &owner = owner_of(last);
  const Step& step = steps_[last];
  last_layer_->forward({activation(call, static_cast<std::size_t>(node.source)),
                        of_node(call.parameters, owner.parameters_at, owner.parameters_size),
                        step.d_input >= 0 ? at(call.arena, step.d_input, input_size(last)) : Slice(),
                        of_node(gradients, owner.parameters_at, owner.parameters_size),
                        at(call.arena, scratch_, scratch_size_)});
}

// Several layers may read this activation. This function adds all parts of its gradient, except the one that the layer
// adds itself.
void StepPlan::sum_gradients(const StepCall& call, std::size_t index, Slice& d_output, ConstSlice& d_more) {
  const std::vector<std::int64_t>& places = steps_[index].d_outputs;
  const std::int64_t size = output_size(index);
  d_output = at(call.arena, places.front(), size);
  std::size_t next = 1;
  if (places.size() > 1 && graph_.nodes[index].layer->takes_two_gradients())
    d_more = at(call.arena, places[next++], size);
  for (; next < places.size(); ++next) compute_.add(d_output, at(call.arena, places[next], size), d_output);
}

void StepPlan::run_backward(const StepCall& call, std::size_t index, Slice d_parameters) {
  const Node &node = graph_.nodes[index], &owner = owner_of(index);
  Step& step = steps_[index];
  Slice d_output;
  ConstSlice d_more;
  sum_gradients(call, index, d_output, d_more);
  const Slice d_input = step.d_input >= 0 ? at(call.arena, step.d_input, input_size(index)) : Slice();
  const ConstSlice saved = step.saved >= 0 ? at(call.arena, step.saved, step.work->saved_size()) : Slice();
  step.work->backward({activation(call, static_cast<std::size_t>(node.source)), activation(call, index + 1),
                       of_node(call.parameters, owner.parameters_at, owner.parameters_size), saved, d_output, d_more,
                       d_input, d_parameters, at(call.arena, scratch_, scratch_size_), call.ranks, node.lends});
  if (step.d_projected >= 0) {
    const std::int64_t size = compute_.activation_size(samples_ * node.skip_shape.size());
    step.projection->backward({{}, {}, {}, d_output, at(call.arena, step.d_projected, size)});
  }
}

void StepPlan::backward(const StepCall& call, Slice gradients, const std::function<void(Slice)>& ready) {
  for (std::size_t i = steps_.size(); i-- > 0;) {
    if (!wants_gradient_[i + 1]) continue;
    const Node& node = graph_.nodes[i];
    const Node& owner = owner_of(i);
    const Slice d_parameters = of_node(gradients, owner.parameters_at, owner.parameters_size);
    if (i < count_forward()) run_backward(call, i, d_parameters);
    if (node.parameters_size == 0) continue;
    for (const Padding& padding : node.padding) compute_.fill(at(d_parameters, padding.begin, padding.size), 0);
    ready(d_parameters);
  }
}

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
