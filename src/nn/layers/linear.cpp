// y = x·W + b over the channels of each position, where dense reads all values of a sample.
#include "nn/operation_layer.h"

namespace eave {
namespace {

constexpr int kMostLinearOutputs = 1 << 20;

struct LinearSettings {
  ImageShape input;
  int outputs = 0;
  bool bias = true;
  float deviation = 0;  // of the first weights; 0: as in dense
};

class Linear final : public Layer {
 public:
  explicit Linear(const LinearSettings& settings) : s_(settings) {
    tensors_ = {make_tensor("weight", {s_.input.channels, s_.outputs})};
    if (s_.bias) tensors_.push_back(make_tensor("bias", {s_.outputs}));
    lay_out(tensors_);
  }

  std::string describe() const override {
    return "linear " + std::to_string(s_.outputs) + (s_.bias ? "" : " no_bias") + (relu_ ? ", relu" : "");
  }
  ImageShape output() const override { return {s_.input.height, s_.input.width, s_.outputs}; }
  std::vector<TensorInfo> parameters() const override { return tensors_; }
  void initialise(const RandomKey& key, Slice parameters, Slice) const override {
    const Slice weights = part(parameters, tensors_[0]);
    if (s_.deviation > 0) return fill_normal(key, double{s_.deviation}, weights);
    fill_weights(key, s_.input.channels, weights);
  }
  bool absorb(const LayerText& next) override { return absorb_relu(next, relu_); }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    return make_linear_layer_plan(compute.plan(shape(use)), tensors_);
  }
  std::unique_ptr<LossLayerPlan> plan_with_loss(Compute& compute, const LayerUse& use, float smoothing) const override {
    if (relu_) return nullptr;
    return make_loss_layer_plan(compute.plan(DenseLossShape{shape(use), s_.input.height * s_.input.width, smoothing}),
                                tensors_);
  }

 private:
  DenseShape shape(const LayerUse& use) const {
    const std::int64_t rows = use.samples * s_.input.height * s_.input.width;
    return {rows, s_.input.channels, s_.outputs, relu_, use.training, use.input_gradient, s_.bias};
  }

  LinearSettings s_;
  bool relu_ = false;
  std::vector<TensorInfo> tensors_;
};

std::unique_ptr<Layer> make_linear(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  LinearSettings settings{context.input};
  settings.outputs = arguments.take_word("classes")
                         ? context.classes
                         : arguments.take_count("the number of outputs", 1, kMostLinearOutputs);
  while (arguments.has_next()) {
    if (arguments.take_word("no_bias")) {
      settings.bias = false;
    } else if (arguments.take_word("deviation")) {
      settings.deviation = arguments.take_number("the deviation", 1e-6f, 10);
    } else {
      break;
    }
  }
  arguments.finish();
  return std::make_unique<Linear>(settings);
}

}  // namespace

LayerKind describe_layer_linear() {
  return {"linear", "linear", "linear OUTPUTS|classes [no_bias] [deviation D]", make_linear};
}

}  // namespace eave
