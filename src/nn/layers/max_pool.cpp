// The largest value of each window. A convolution with relu absorbs a plain max_pool directly behind it.
#include "nn/layer.h"

namespace eave {
namespace {

class MaxPoolPlan final : public LayerPlan {
 public:
  MaxPoolPlan(Compute& compute, const PoolShape& shape) : compute_(compute), shape_(shape) {}
  std::int64_t saved_size() const override { return pool_winners_size(shape_); }
  void forward(const ForwardCall& call) override {
    compute_.max_pool_forward(shape_, call.input, call.output, call.saved);
  }
  void backward(const BackwardCall& call) override {
    if (!call.d_input.empty()) compute_.max_pool_backward(shape_, call.saved, call.d_output, call.d_input);
  }

 private:
  Compute& compute_;
  PoolShape shape_;
};

class MaxPool final : public Layer {
 public:
  MaxPool(const LayerText& text, const PoolShape& shape) : text_(text.text()), shape_(shape) {}
  std::string describe() const override { return text_; }
  ImageShape output() const override { return shape_.output(); }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    PoolShape shape = shape_;
    shape.samples = use.samples;
    return std::make_unique<MaxPoolPlan>(compute, shape);
  }

 private:
  std::string text_;
  PoolShape shape_;
};

std::unique_ptr<Layer> make_max_pool(const LayerContext& context) {
  const PoolShape shape = read_pool(context);
  if (shape.window.height * shape.window.width > 255) fail_layer(context.text, "windows have at most 255 pixels");
  return std::make_unique<MaxPool>(context.text, shape);
}

}  // namespace

LayerKind describe_layer_max_pool() { return {"max_pool", "", "max_pool SIZE [stride S] [pad P]", make_max_pool}; }

}  // namespace eave
