// Layers that are one operation of Compute, for the files of src/nn/layers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/elementwise/words.h"
#include "nn/layer.h"

namespace eave {

// A layer's plan that is the plan of an operation.
template <class Plan>
class OperationLayerPlan : public LayerPlan {
 public:
  explicit OperationLayerPlan(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
  std::int64_t saved_size() const override { return plan_->saved_size(); }
  std::int64_t scratch_size() const override { return plan_->scratch_size(); }
  bool goes_back_in_place() const override { return plan_->goes_back_in_place(); }

 protected:
  const std::unique_ptr<Plan> plan_;
};

class UnaryLayerPlan : public OperationLayerPlan<UnaryPlan> {
 public:
  using OperationLayerPlan::OperationLayerPlan;
  void forward(const ForwardCall& call) override { plan_->forward({call.input, call.output, call.saved}); }
  void backward(const BackwardCall& call) override {
    if (call.d_input.empty()) return;
    plan_->backward({call.input, call.output, call.saved, call.d_output, call.d_input});
  }
};

// `tensors`: the layer's weights and, if it has one, its bias.
std::unique_ptr<LayerPlan> make_linear_layer_plan(std::unique_ptr<LinearPlan> plan,
                                                  const std::vector<TensorInfo>& tensors);

// The same for a layer that computes the loss too.
std::unique_ptr<LossLayerPlan> make_loss_layer_plan(std::unique_ptr<DenseLossShape::Plan> plan,
                                                    const std::vector<TensorInfo>& tensors);

// A layer without parameters. `plan` plans its operation for a number of samples.
struct UnaryLayerSettings {
  std::string text;
  ImageShape output;
  std::function<std::unique_ptr<UnaryPlan>(Compute& compute, std::int64_t samples)> plan;
  bool reads_neighbours = false;         // Layer::reads_neighbours
  PlaceRole places = {};                 // Layer::place_role
  std::vector<std::int64_t> parts = {};  // Layer::input_parts, if places say nothing of them
};
std::unique_ptr<Layer> make_unary_layer(UnaryLayerSettings settings);

// The layer of an elementwise word (kernels/elementwise). The caller has read the layer's arguments.
// src/nn/layers/CMakeLists.txt makes a layer of each word; a word whose layer reads arguments has a file there.
std::unique_ptr<Layer> make_activation_layer(const LayerContext& context, const ActivationShape& activation);

// The layer of a word without a parameter.
template <Elementwise kWord>
std::unique_ptr<Layer> make_plain_activation(const LayerContext& context) {
  ArgumentReader(context.text).finish();
  return make_activation_layer(context, {kWord});
}

}  // namespace eave
