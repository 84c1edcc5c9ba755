#include "eave/model.h"

#include <algorithm>
#include <map>

#include "eave/check.h"
#include "nn/step_plan.h"

namespace eave {

struct Model::State {
  Graph graph;
  int classes;
  std::int64_t largest_batch;
  Compute* compute;
  std::map<std::pair<std::int64_t, bool>, std::unique_ptr<StepPlan>> plans;  // by samples and training
  Buffer arena;

  StepPlan& plan(std::int64_t samples, bool training);
  void check(const Batch& batch, ConstSlice parameters, ConstSlice statistics) const;
};

StepPlan& Model::State::plan(std::int64_t samples, bool training) {
  std::unique_ptr<StepPlan>& found = plans[{samples, training}];
  if (found == nullptr) found = std::make_unique<StepPlan>(graph, *compute, samples, training);
  const auto size = static_cast<std::size_t>(found->arena_size());
  if (size > arena.size()) {
    arena = Buffer();  // the old one first: both at once could be too much
    arena = Buffer(size);
  }
  return *found;
}

void Model::State::check(const Batch& batch, ConstSlice parameters, ConstSlice statistics) const {
  const auto samples = static_cast<std::size_t>(batch.samples);
  EAVE_CHECK(batch.inputs.size() >= samples * static_cast<std::size_t>(graph.input.size()), "inputs of the batch");
  EAVE_CHECK(batch.labels.size() >= samples && batch.indices.size() >= samples, "labels and indices of the batch");
  EAVE_CHECK(std::ssize(parameters) >= graph.parameter_size, "parameters");
  EAVE_CHECK(std::ssize(statistics) >= graph.statistics_size, "statistics");
  for (const std::int32_t label : batch.labels.first(samples)) {
    EAVE_CHECK(label >= 0 && label < classes, "label " + std::to_string(label));
  }
}

Model::Model(const std::string& specification, ImageShape input, int classes, std::int64_t largest_batch,
             Compute& compute)
    : state_(new State{build_graph(specification, input, classes), classes, largest_batch, &compute, {}, {}}) {
  if (largest_batch > 0) state_->plan(largest_batch, true);
}

Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

const std::vector<TensorInfo>& Model::parameters() const { return state_->graph.parameters; }
const std::vector<TensorInfo>& Model::statistics() const { return state_->graph.statistics; }
std::int64_t Model::parameter_size() const { return state_->graph.parameter_size; }
std::int64_t Model::statistics_size() const { return state_->graph.statistics_size; }
std::string Model::summary() const { return summarise(state_->graph); }

std::int64_t Model::activation_bytes() const { return static_cast<std::int64_t>(state_->arena.size() * sizeof(float)); }

void Model::initialise(std::uint64_t seed, Slice parameters, Slice statistics) const {
  std::ranges::fill(parameters, 0.0f);
  std::ranges::fill(statistics, 0.0f);
  std::uint32_t part = 0;
  for (const Node& node : state_->graph.nodes) {
    if (node.parameters_size == 0) continue;
    node.layer->initialise({seed, Purpose::kInitialise, ++part},
                           parameters.subspan(static_cast<std::size_t>(node.parameters_at),
                                              static_cast<std::size_t>(node.parameters_size)),
                           statistics.subspan(static_cast<std::size_t>(node.statistics_at),
                                              static_cast<std::size_t>(node.statistics_size)));
  }
}

Score Model::train(const Batch& batch, std::uint64_t seed, ConstSlice parameters, Slice statistics, Slice gradients,
                   float weight, const std::function<void(Slice)>& ready) {
  State& state = *state_;
  state.check(batch, parameters, statistics);
  EAVE_CHECK(std::ssize(gradients) >= state.graph.parameter_size, "gradients");
  EAVE_CHECK(batch.samples <= state.largest_batch, "the batch is larger than the model was made for");
  if (batch.samples == 0) {
    state.compute->fill(gradients, 0);
    ready(gradients);
    return {};
  }
  StepPlan& plan = state.plan(batch.samples, true);
  const StepCall call{batch, seed, parameters, statistics, statistics, state.arena.slice()};
  const ConstSlice logits = plan.forward(call);
  const auto labels = batch.labels.first(static_cast<std::size_t>(batch.samples));
  const LossSum loss = state.compute->softmax_cross_entropy(
      state.classes, logits, labels, weight / static_cast<float>(batch.samples), plan.output_gradient(call.arena));
  plan.backward(call, gradients, ready);
  return {loss.loss_sum, loss.correct, batch.samples};
}

Score Model::evaluate(const Batch& batch, ConstSlice parameters, ConstSlice statistics) {
  State& state = *state_;
  state.check(batch, parameters, statistics);
  if (batch.samples == 0) return {};
  StepPlan& plan = state.plan(batch.samples, false);
  const ConstSlice logits = plan.forward({batch, 0, parameters, statistics, {}, state.arena.slice()});
  const auto labels = batch.labels.first(static_cast<std::size_t>(batch.samples));
  const LossSum loss = state.compute->softmax_cross_entropy(state.classes, logits, labels, 0, {});
  return {loss.loss_sum, loss.correct, batch.samples};
}

void Model::measure_statistics(const Batch& batch, ConstSlice parameters, Slice statistics) {
  State& state = *state_;
  state.check(batch, parameters, statistics);
  EAVE_CHECK(batch.samples > 0 && batch.samples <= state.largest_batch, "a batch as in training");
  if (statistics.empty()) return;
  // The plan of training keeps what a batch norm measures, and has its memory already.
  state.plan(batch.samples, true).forward({batch, 0, parameters, {}, {}, state.arena.slice(), statistics});
}

}  // namespace eave
