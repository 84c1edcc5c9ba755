// y = layers(x) + x, or layers(x) + shortcut(x). This layer is only the sum. The layers in parentheses are nodes of the
// model, and a batch_norm at their end absorbs the sum.
//
// The layers may shrink and widen the image while the shortcut has no layers. Then x is subsampled and gets zero
// channels, half of them before its own channels and half behind. (This is option A of He et al. 2016, who do not say
// where the zeros go.)
#include "nn/operation_layer.h"

namespace eave {
namespace {

class ResidualPlan final : public LayerPlan {
 public:
  ResidualPlan(Compute& compute, bool relu) : compute_(compute) {
    if (relu) relu_ = compute.plan(ActivationShape{Elementwise::kRelu});
  }

  void forward(const ForwardCall& call) override {
    compute_.add(call.input, call.skip, call.output);
    if (relu_) relu_->forward({call.output, call.output, {}});
  }
  void backward(const BackwardCall& call) override {
    if (relu_) relu_->backward({{}, call.output, {}, call.d_output, call.d_output});
    if (!call.d_input.empty()) compute_.copy(call.d_output, call.d_input);
  }

 private:
  Compute& compute_;
  std::unique_ptr<UnaryPlan> relu_;  // nullptr: the layer has none
};

class Residual final : public Layer {
 public:
  explicit Residual(ImageShape shape) : shape_(shape) {}
  std::string describe() const override { return relu_ ? "add skip, relu" : "add skip"; }
  ImageShape output() const override { return shape_; }
  bool absorb(const LayerText& next) override { return absorb_relu(next, relu_); }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse&) const override {
    return std::make_unique<ResidualPlan>(compute, relu_);
  }

 private:
  ImageShape shape_;
  bool relu_ = false;
};

std::unique_ptr<Layer> make_residual(const LayerContext& context) { return std::make_unique<Residual>(context.input); }

}  // namespace

LayerKind describe_layer_residual() {
  return {"residual", "", "residual(LAYER; LAYER; … [| LAYER OF SHORTCUT; …])", make_residual};
}

}  // namespace eave
