#include "nn/operation_layer.h"

namespace eave {
namespace {

class LinearLayerPlan final : public OperationLayerPlan<LinearPlan> {
 public:
  LinearLayerPlan(std::unique_ptr<LinearPlan> plan, const std::vector<TensorInfo>& tensors)
      : OperationLayerPlan(std::move(plan)),
        weights_(tensors[0]),
        bias_(tensors.back()),
        has_bias_(tensors.size() == 2) {}

  void forward(const ForwardCall& call) override {
    plan_->forward({call.input, part(call.parameters, weights_),
                    has_bias_ ? part(call.parameters, bias_) : ConstSlice(), call.output, call.saved, call.scratch});
  }
  void backward(const BackwardCall& call) override {
    plan_->backward({call.input, part(call.parameters, weights_), call.output, call.saved, call.d_output, call.d_input,
                     part(call.d_parameters, weights_), has_bias_ ? part(call.d_parameters, bias_) : Slice(),
                     call.scratch});
  }

 private:
  TensorInfo weights_, bias_;
  bool has_bias_;
};

class DenseLossLayerPlan final : public LossLayerPlan {
 public:
  DenseLossLayerPlan(std::unique_ptr<DenseLossShape::Plan> plan, const std::vector<TensorInfo>& tensors)
      : plan_(std::move(plan)), weights_(tensors[0]), bias_(tensors.back()), has_bias_(tensors.size() == 2) {}

  std::int64_t scratch_size() const override { return plan_->scratch_size(); }
  void forward(const LossCall& call) override {
    plan_->forward({call.input, part(call.parameters, weights_),
                    has_bias_ ? part(call.parameters, bias_) : ConstSlice(), call.d_input, gradient(call, weights_),
                    has_bias_ ? gradient(call, bias_) : Slice(), call.scratch});
  }

 private:
  static Slice gradient(const LossCall& call, const TensorInfo& tensor) {
    return call.d_parameters.empty() ? Slice() : part(call.d_parameters, tensor);
  }

  const std::unique_ptr<DenseLossShape::Plan> plan_;
  TensorInfo weights_, bias_;
  bool has_bias_;
};

class UnaryLayer final : public Layer {
 public:
  explicit UnaryLayer(UnaryLayerSettings settings) : settings_(std::move(settings)) {}
  std::string describe() const override { return settings_.text; }
  ImageShape output() const override { return settings_.output; }
  bool reads_neighbours() const override { return settings_.reads_neighbours; }
  PlaceRole place_role() const override { return settings_.places; }
  std::vector<std::int64_t> input_parts() const override {
    return settings_.parts.empty() ? Layer::input_parts() : settings_.parts;
  }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    return std::make_unique<UnaryLayerPlan>(settings_.plan(compute, use.samples));
  }

 private:
  UnaryLayerSettings settings_;
};

}  // namespace

std::unique_ptr<LayerPlan> make_linear_layer_plan(std::unique_ptr<LinearPlan> plan,
                                                  const std::vector<TensorInfo>& tensors) {
  return std::make_unique<LinearLayerPlan>(std::move(plan), tensors);
}

std::unique_ptr<LossLayerPlan> make_loss_layer_plan(std::unique_ptr<DenseLossShape::Plan> plan,
                                                    const std::vector<TensorInfo>& tensors) {
  return std::make_unique<DenseLossLayerPlan>(std::move(plan), tensors);
}

std::unique_ptr<Layer> make_unary_layer(UnaryLayerSettings settings) {
  return std::make_unique<UnaryLayer>(std::move(settings));
}

std::unique_ptr<Layer> make_activation_layer(const LayerContext& context, const ActivationShape& activation) {
  return make_unary_layer({context.text.text(), context.input,
                           [activation](Compute& compute, std::int64_t) { return compute.plan(activation); }});
}

}  // namespace eave
