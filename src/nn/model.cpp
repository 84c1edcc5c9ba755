#include "eave/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/options/number_text.h"
#include "eave/check.h"
#include "nn/step_plan.h"

namespace eave {
namespace {

enum Variant { kTraining, kTrainingInParts, kEvaluation, kMeasuring };

// Collects final parts of the gradients and reports them once they are large enough to exchange (smallest_part).
class ReadyParts {
 public:
  // `gate`: nullptr, or what each part passes before it is reported.
  ReadyParts(Compute& compute, Slice gradients, const std::function<void(Slice)>& ready, LossGateShape::Plan* gate)
      : compute_(compute),
        gradients_(gradients),
        ready_(ready),
        gate_(gate),
        told_(gradients.size()),
        final_(gradients.size()) {}

  void add(Slice part) {
    final_ -= part.size();
    EAVE_CHECK(part.data() == gradients_.data() + final_, "gradients become final from the end of the arena");
    if (static_cast<std::int64_t>(told_ - final_) >= compute_.smallest_part()) tell();
  }

  void tell() {
    if (told_ == final_) return;
    const Slice part = gradients_.subspan(final_, told_ - final_);
    if (gate_ != nullptr) gate_->forward({part});
    compute_.cut();
    ready_(part);
    told_ = final_;
  }

 private:
  Compute& compute_;
  const Slice gradients_;
  const std::function<void(Slice)>& ready_;
  LossGateShape::Plan* const gate_;
  std::size_t told_, final_;  // from these indices on, gradients are reported, or final
};

template <class Pass>
void run_backward(Pass& pass, const StepCall& call, Compute& compute, Slice gradients,
                  const std::function<void(Slice)>& ready, LossGateShape::Plan* gate = nullptr) {
  if (!ready) {
    pass.backward(call, gradients, [](Slice) {});
    if (gate != nullptr) gate->forward({gradients});
    return;
  }
  ReadyParts parts(compute, gradients, ready, gate);
  pass.backward(call, gradients, [&](Slice part) { parts.add(part); });
  parts.tell();
}

}  // namespace

struct Model::State {
  State(Graph a_graph, int a_classes, std::int64_t a_largest_batch, Compute& a_compute)
      : graph(std::move(a_graph)), classes(a_classes), largest_batch(a_largest_batch), compute(&a_compute) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { compute->forget_passes(); }

  Graph graph;
  int classes;
  std::int64_t largest_batch;
  Compute* compute;
  float smoothing = 0;                        // of labels, in training
  bool leaves_out = false;                    // gradients of batches whose loss is not finite are NaN
  std::unique_ptr<LossGateShape::Plan> gate;  // nullptr: nothing is left out, or train() knows the loss before backward
  MomentExchange* ranks = nullptr;
  std::optional<EmptyPass> empty_pass;  // set together with `ranks`

  // Keyed by the number of samples and by whether the plan trains.
  std::map<std::pair<std::int64_t, bool>, std::unique_ptr<StepPlan>> plans;
  Buffer arena;

  Buffer allocate_for(std::int64_t samples, std::size_t size);
  StepPlan& plan(std::int64_t samples, bool training);
  PassKind kind(const StepPlan& plan, ConstSlice parameters, ConstSlice statistics, ConstSlice gradients,
                Variant variant) const {
    return {&plan, parameters.data(), statistics.data(), gradients.data(), arena.data(), graph.parameter_size, variant};
  }
  std::array<std::int64_t, kKeptLosses> counted{};  // at ticket % kKeptLosses: the labels of the pass that have a loss

  // Returns the number of labels that have a loss.
  std::int64_t check(const Batch& batch, ConstSlice parameters, ConstSlice statistics) const;
  void check_tokens(ConstSlice tokens) const;
  std::int64_t end_pass(std::int64_t labels);
  void leave_out_backward(const StepCall& call, Slice gradients, const std::function<void(Slice)>& ready);
  void spoil_backward(const StepCall& call, Slice gradients, const std::function<void(Slice)>& ready);
};

// If memory runs out, the error names the batch size that would fit. Activations grow with the batch, so the free
// memory tells it.
Buffer Model::State::allocate_for(std::int64_t samples, std::size_t size) {
  Device& device = compute->device();
  try {
    return device.allocate(size);
  } catch (const Error& error) {
    const std::int64_t free = device.free_bytes();
    if (error.code() != ExitCode::kResource || free < 0) throw;
    const double share = static_cast<double>(free) / static_cast<double>(size * sizeof(float));
    const auto fitting = static_cast<std::int64_t>(share * static_cast<double>(samples));
    throw Error(error.code(), std::string(error.what()) + " (these are activations of " +
                                  count_text(samples, "sample") + "; those of about " + std::to_string(fitting) +
                                  " would fit)");
  }
}

StepPlan& Model::State::plan(std::int64_t samples, bool training) {
  std::unique_ptr<StepPlan>& found = plans[{samples, training}];
  if (found == nullptr)
    found = std::make_unique<StepPlan>(graph, *compute, samples, training, LossSettings{true, smoothing});
  const auto size = static_cast<std::size_t>(found->arena_size());
  if (size > arena.size()) {
    compute->forget_passes();
    arena = Buffer();  // free the old one first: both at once might not fit
    arena = allocate_for(samples, size);
  }
  return *found;
}

void Model::State::check_tokens(ConstSlice tokens) const {
  const auto vocabulary = static_cast<float>(classes);
  for (const float token : tokens) {
    EAVE_CHECK(token >= 0 && token < vocabulary && token == std::floor(token), "token " + std::to_string(token));
  }
}

std::int64_t Model::State::check(const Batch& batch, ConstSlice parameters, ConstSlice statistics) const {
  const auto samples = static_cast<std::size_t>(batch.samples);
  EAVE_CHECK(batch.images != nullptr || batch.inputs.size() >= samples * static_cast<std::size_t>(graph.input.size()),
             "inputs of the batch");
  if (batch.targets != graph.targets) {
    throw Error(ExitCode::kConfiguration,
                "model: it gives " + count_text(graph.targets, "prediction") + " for each sample, but the data has " +
                    count_text(batch.targets, "label") + "; for text, give a model that begins with embedding");
  }
  const std::size_t labels = samples * static_cast<std::size_t>(batch.targets);
  EAVE_CHECK(batch.labels.size() >= labels && batch.indices.size() >= samples, "labels and indices of the batch");
  EAVE_CHECK(std::ssize(parameters) >= graph.parameter_size, "parameters");
  EAVE_CHECK(std::ssize(statistics) >= graph.statistics_size, "statistics");
  if (graph.reads_tokens) check_tokens(batch.inputs.first(samples * static_cast<std::size_t>(graph.input.size())));
  std::int64_t with_loss = 0;
  for (const std::int32_t label : batch.labels.first(labels)) {
    if (label == kNoLabel) continue;
    EAVE_CHECK(label >= 0 && label < classes, "label " + std::to_string(label));
    ++with_loss;
  }
  return with_loss;
}

// Ends the pass and returns its ticket. `labels`: those that have a loss.
std::int64_t Model::State::end_pass(std::int64_t labels) {
  const std::int64_t ticket = compute->end_pass();
  counted[static_cast<std::size_t>(ticket % kKeptLosses)] = labels;
  return ticket;
}

// Sets the gradients to 0. With `ranks` it still runs the empty pass, because other ranks may wait for this one in
// their backward pass.
void Model::State::leave_out_backward(const StepCall& call, Slice gradients, const std::function<void(Slice)>& ready) {
  compute->device().fill(gradients, 0);
  if (empty_pass) {
    run_backward(*empty_pass, call, *compute, gradients, ready);
  } else if (ready) {
    ready(gradients);
  }
}

// Sets the gradients to NaN.
void Model::State::spoil_backward(const StepCall& call, Slice gradients, const std::function<void(Slice)>& ready) {
  leave_out_backward(call, gradients, [&](Slice part) {
    compute->device().fill(part, std::numeric_limits<float>::quiet_NaN());
    if (ready) ready(part);
  });
}

Model::Model(const std::string& specification, ImageShape input, int classes, std::int64_t largest_batch,
             Compute& compute, float label_smoothing)
    : state_(new State(build_graph(specification, input, classes), classes, largest_batch, compute)) {
  state_->smoothing = label_smoothing;
  if (largest_batch > 0) state_->plan(largest_batch, true);
}

Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

const std::vector<TensorInfo>& Model::parameters() const { return state_->graph.parameters; }
const std::vector<TensorInfo>& Model::statistics() const { return state_->graph.statistics; }
std::int64_t Model::parameter_size() const { return state_->graph.parameter_size; }
std::int64_t Model::targets() const { return state_->graph.targets; }
std::int64_t Model::least_norm_positions() const {
  std::int64_t least = 0;
  for (const Node& node : state_->graph.nodes) {
    if (!node.layer->spans_ranks()) continue;
    const ImageShape image = node.layer->output();
    const std::int64_t positions = std::int64_t{image.height} * image.width;
    least = least == 0 ? positions : std::min(least, positions);
  }
  return least;
}
std::int64_t Model::statistics_size() const { return state_->graph.statistics_size; }
std::vector<std::int64_t> Model::rows_per_sample() const {
  std::vector<std::int64_t> rows;
  for (const Node& node : state_->graph.nodes) {
    const ImageShape shape = node.layer->output();
    if (node.statistics_size > 0) rows.push_back(std::int64_t{shape.height} * shape.width);
  }
  return rows;
}

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

void Model::leave_out_nonfinite_batches() {
  Compute& compute = *state_->compute;
  state_->leaves_out = true;
  if (compute.device().kind() == DeviceKind::kCpu) return;
  compute.forget_passes();  // those that a device has recorded lack the gate
  state_->gate = compute.plan(LossGateShape{});
}

void Model::normalise_over(MomentExchange& ranks) {
  EAVE_CHECK(state_->compute->device().kind() == DeviceKind::kCpu, "batch norm spans ranks on the CPU only");
  state_->ranks = &ranks;
  state_->empty_pass.emplace(state_->graph, *state_->compute);
}

std::int64_t Model::train(const Batch& batch, std::uint64_t seed, ConstSlice parameters, Slice statistics,
                          Slice gradients, float weight, const std::function<void(Slice)>& ready) {
  State& state = *state_;
  Compute& compute = *state.compute;
  const std::int64_t labels = state.check(batch, parameters, statistics);
  EAVE_CHECK(std::ssize(gradients) >= state.graph.parameter_size, "gradients");
  EAVE_CHECK(batch.samples <= state.largest_batch, "the batch is larger than the model was made for");
  gradients = gradients.first(static_cast<std::size_t>(state.graph.parameter_size));
  if (batch.samples == 0) {
    const StepCall call{{}, parameters, statistics, statistics, {}, {}, state.ranks};
    if (state.empty_pass) state.empty_pass->forward(call);
    state.leave_out_backward(call, gradients, ready);
    return 0;
  }
  StepPlan& plan = state.plan(batch.samples, true);
  const PassInputs inputs{batch, seed, weight / static_cast<float>(batch.samples * batch.targets)};
  const PassKind kind = state.kind(plan, parameters, statistics, gradients, ready ? kTrainingInParts : kTraining);
  const StepCall call{
      compute.begin_pass(kind, inputs), parameters, statistics, statistics, state.arena.slice(), {}, state.ranks};
  plan.forward(call);
  plan.compute_loss(call, gradients);
  if (state.leaves_out && compute.loss_is_not_finite()) {
    state.spoil_backward(call, gradients, ready);
  } else {
    run_backward(plan, call, compute, gradients, ready, state.gate.get());
  }
  return state.end_pass(labels);
}

Score Model::score(std::int64_t samples, std::int64_t ticket) {
  if (samples == 0) return {};
  const LossSum loss = state_->compute->loss(ticket);
  return {loss.loss_sum, loss.correct, state_->counted[static_cast<std::size_t>(ticket % kKeptLosses)]};
}

Score Model::evaluate(const Batch& batch, ConstSlice parameters, ConstSlice statistics) {
  State& state = *state_;
  const std::int64_t labels = state.check(batch, parameters, statistics);
  if (batch.samples == 0) return {};
  StepPlan& plan = state.plan(batch.samples, false);
  const PassKind kind = state.kind(plan, parameters, statistics, {}, kEvaluation);
  const StepCall call{state.compute->begin_pass(kind, {batch, 0, 0}), parameters, statistics, {}, state.arena.slice()};
  plan.forward(call);
  plan.compute_loss(call, {});
  return score(batch.samples, state.end_pass(labels));
}

void Model::measure_statistics(const Batch& batch, ConstSlice parameters, Slice statistics) {
  State& state = *state_;
  state.check(batch, parameters, statistics);
  EAVE_CHECK(batch.samples > 0 && batch.samples <= state.largest_batch, "a batch as in training");
  if (statistics.empty()) return;
  // Uses the plan of training: it keeps the moments that batch norm measures, and its memory exists already.
  StepPlan& plan = state.plan(batch.samples, true);
  const PassKind kind = state.kind(plan, parameters, statistics, {}, kMeasuring);
  const ConstSlice inputs = state.compute->begin_pass(kind, {batch, 0, 0});
  plan.forward({inputs, parameters, {}, {}, state.arena.slice(), statistics});
  state.compute->end_pass();
}

}  // namespace eave
