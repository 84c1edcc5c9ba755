// y = x·W + b over all values of a sample, in the order in which they are stored: height, width, channel.

#include "nn/operation_layer.h"

namespace eave {
namespace {

constexpr int kMostOutputs = 1 << 20;

class Dense final : public Layer {
 public:
  Dense(std::int64_t inputs, int outputs)
      : inputs_(inputs),
        outputs_(outputs),
        tensors_{make_tensor("weight", {inputs, outputs}), make_tensor("bias", {outputs})} {
    lay_out(tensors_);
  }

  std::string describe() const override { return "dense " + std::to_string(outputs_) + (relu_ ? ", relu" : ""); }
  ImageShape output() const override { return {1, 1, outputs_}; }
  std::vector<TensorInfo> parameters() const override { return tensors_; }
  void initialise(const RandomKey& key, Slice parameters, Slice) const override {
    fill_weights(key, static_cast<double>(inputs_), part(parameters, tensors_[0]));
  }
  bool absorb(const LayerText& next) override { return absorb_relu(next, relu_); }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    return make_linear_layer_plan(
        compute.plan(DenseShape{use.samples, inputs_, outputs_, relu_, use.training, use.input_gradient}), tensors_);
  }

 private:
  std::int64_t inputs_;
  int outputs_;
  bool relu_ = false;
  std::vector<TensorInfo> tensors_;
};

std::unique_ptr<Layer> make_dense(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  const int outputs =
      arguments.take_word("classes") ? context.classes : arguments.take_count("the number of outputs", 1, kMostOutputs);
  arguments.finish();
  return std::make_unique<Dense>(context.input.size(), outputs);
}

}  // namespace

LayerKind describe_layer_dense() { return {"dense", "dense", "dense OUTPUTS|classes", make_dense, true}; }

}  // namespace eave
