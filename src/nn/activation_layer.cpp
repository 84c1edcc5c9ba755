#include "nn/activation_layer.h"

namespace eave {
namespace {

class ActivationPlan final : public LayerPlan {
 public:
  ActivationPlan(Compute& compute, const Activation& activation) : compute_(compute), activation_(activation) {}
  void forward(const ForwardCall& call) override { compute_.activation_forward(activation_, call.input, call.output); }
  void backward(const BackwardCall& call) override {
    if (call.d_input.empty()) return;
    compute_.activation_backward(activation_, call.input, call.output, call.d_output, call.d_input);
  }

 private:
  Compute& compute_;
  Activation activation_;
};

class ActivationLayer final : public Layer {
 public:
  ActivationLayer(std::string text, ImageShape shape, const Activation& activation)
      : text_(std::move(text)), shape_(shape), activation_(activation) {}
  std::string describe() const override { return text_; }
  ImageShape output() const override { return shape_; }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse&) const override {
    return std::make_unique<ActivationPlan>(compute, activation_);
  }

 private:
  std::string text_;
  ImageShape shape_;
  Activation activation_;
};

}  // namespace

std::unique_ptr<Layer> make_activation_layer(const LayerContext& context, const Activation& activation) {
  return std::make_unique<ActivationLayer>(context.text.text(), context.input, activation);
}

}  // namespace eave
