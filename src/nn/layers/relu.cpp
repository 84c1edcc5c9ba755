// y = max(x, 0). In most models the layer before it absorbs it.
#include "nn/layer.h"

namespace eave {
namespace {

class ReluPlan final : public LayerPlan {
 public:
  explicit ReluPlan(Compute& compute) : compute_(compute) {}
  void forward(const ForwardCall& call) override { compute_.relu_forward(call.input, call.output); }
  void backward(const BackwardCall& call) override {
    if (!call.d_input.empty()) compute_.relu_backward(call.output, call.d_output, call.d_input);
  }

 private:
  Compute& compute_;
};

class Relu final : public Layer {
 public:
  explicit Relu(ImageShape shape) : shape_(shape) {}
  std::string describe() const override { return "relu"; }
  ImageShape output() const override { return shape_; }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse&) const override {
    return std::make_unique<ReluPlan>(compute);
  }

 private:
  ImageShape shape_;
};

std::unique_ptr<Layer> make_relu(const LayerContext& context) {
  ArgumentReader(context.text).finish();
  return std::make_unique<Relu>(context.input);
}

}  // namespace

LayerKind describe_layer_relu() { return {"relu", "", "relu", make_relu}; }

}  // namespace eave
