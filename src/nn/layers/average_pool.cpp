// The mean of each window. Zeros of the padding count as values.
#include "nn/layer.h"

namespace eave {
namespace {

class AveragePoolPlan final : public LayerPlan {
 public:
  AveragePoolPlan(Compute& compute, const PoolShape& shape) : compute_(compute), shape_(shape) {}
  void forward(const ForwardCall& call) override { compute_.average_pool_forward(shape_, call.input, call.output); }
  void backward(const BackwardCall& call) override {
    if (!call.d_input.empty()) compute_.average_pool_backward(shape_, call.d_output, call.d_input);
  }

 private:
  Compute& compute_;
  PoolShape shape_;
};

class AveragePool final : public Layer {
 public:
  AveragePool(const LayerText& text, const PoolShape& shape) : text_(text.text()), shape_(shape) {}
  std::string describe() const override { return text_; }
  ImageShape output() const override { return shape_.output(); }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    PoolShape shape = shape_;
    shape.samples = use.samples;
    return std::make_unique<AveragePoolPlan>(compute, shape);
  }

 private:
  std::string text_;
  PoolShape shape_;
};

std::unique_ptr<Layer> make(const LayerContext& context) { return make_average_pool(context.text, read_pool(context)); }

}  // namespace

std::unique_ptr<Layer> make_average_pool(const LayerText& text, const PoolShape& shape) {
  return std::make_unique<AveragePool>(text, shape);
}

LayerKind describe_layer_average_pool() { return {"average_pool", "", "average_pool SIZE [stride S] [pad P]", make}; }

}  // namespace eave
