// Sets values to zero at random while training (Srivastava et al. 2014). It chooses the same values for any number of
// ranks.
#include <sstream>

#include "nn/operation_layer.h"

namespace eave {
namespace {

class DropoutPlan final : public UnaryLayerPlan {
 public:
  DropoutPlan(Compute& compute, const DropoutShape& shape) : UnaryLayerPlan(compute.plan(shape)), compute_(compute) {}
  void forward(const ForwardCall& call) override {
    if (call.training) return UnaryLayerPlan::forward(call);
    compute_.copy(call.input, call.output);
  }

 private:
  Compute& compute_;
};

class Dropout final : public Layer {
 public:
  Dropout(ImageShape shape, float rate, int number) : shape_(shape), rate_(rate), number_(number) {}
  std::string describe() const override {
    std::ostringstream text;
    text << "dropout " << rate_;
    return text.str();
  }
  ImageShape output() const override { return shape_; }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    return std::make_unique<DropoutPlan>(
        compute, DropoutShape{use.samples, shape_.size(), rate_, static_cast<std::uint32_t>(number_)});
  }

 private:
  ImageShape shape_;
  float rate_;
  int number_;
};

std::unique_ptr<Layer> make_dropout(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  const float rate = arguments.take_fraction("the share that is dropped");
  arguments.finish();
  return std::make_unique<Dropout>(context.input, rate, context.text.number);
}

}  // namespace

LayerKind describe_layer_dropout() { return {"dropout", "", "dropout RATE", make_dropout}; }

}  // namespace eave
