// y = x · tableᵀ over the channels of each position, with the table of the model's embedding (Press and Wolf 2017): one
// output for each token. The layer has no parameters of its own.
#include "nn/operation_layer.h"

namespace eave {
namespace {

class TiedOutput final : public Layer {
 public:
  TiedOutput(ImageShape input, int classes) : input_(input), classes_(classes) {}

  std::string describe() const override { return "tied_output"; }
  ImageShape output() const override { return {input_.height, input_.width, classes_}; }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    return make_linear_layer_plan(compute.plan(shape(use)), {table()});
  }
  std::unique_ptr<LossLayerPlan> plan_with_loss(Compute& compute, const LayerUse& use, float smoothing) const override {
    return make_loss_layer_plan(compute.plan(DenseLossShape{shape(use), input_.height * input_.width, smoothing}),
                                {table()});
  }

 private:
  DenseShape shape(const LayerUse& use) const {
    DenseShape shape{use.samples * input_.height * input_.width, input_.channels, classes_};
    shape.training = use.training;
    shape.input_gradient = use.input_gradient;
    shape.bias = false;
    shape.transposed = true;
    return shape;
  }
  TensorInfo table() const {
    return make_tensor("weight", {classes_, input_.channels});
  }  // the embedding's first tensor

  ImageShape input_;
  int classes_;
};

std::unique_ptr<Layer> make_tied_output(const LayerContext& context) {
  ArgumentReader(context.text).finish();
  return std::make_unique<TiedOutput>(context.input, context.classes);
}

}  // namespace

LayerKind describe_layer_tied_output() { return {"tied_output", "", "tied_output", make_tied_output}; }

}  // namespace eave
