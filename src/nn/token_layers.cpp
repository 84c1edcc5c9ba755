#include "nn/token_layers.h"

#include <algorithm>

#include "nn/operation_layer.h"

namespace eave {
namespace {

constexpr int kMostHeads = 1 << 12;

class RowNormPlan final : public OperationLayerPlan<RowNormShape::Plan> {
 public:
  RowNormPlan(std::unique_ptr<RowNormShape::Plan> plan, const std::vector<TensorInfo>& tensors)
      : OperationLayerPlan(std::move(plan)),
        scale_(tensors[0]),
        shift_(tensors.back()),
        has_shift_(tensors.size() == 2) {}

  void forward(const ForwardCall& call) override {
    plan_->forward({call.input, part(call.parameters, scale_),
                    has_shift_ ? part(call.parameters, shift_) : ConstSlice(), call.output, call.saved});
  }
  void backward(const BackwardCall& call) override {
    plan_->backward({call.input, part(call.parameters, scale_), call.saved, call.d_output, call.d_input,
                     part(call.d_parameters, scale_), has_shift_ ? part(call.d_parameters, shift_) : Slice(),
                     call.scratch});
  }

 private:
  TensorInfo scale_, shift_;
  bool has_shift_;
};

class RowNormLayer final : public Layer {
 public:
  RowNormLayer(const LayerContext& context, const RowNormShape& shape, bool bias)
      : text_(context.text.text()), input_(context.input), shape_(shape) {
    tensors_ = {make_tensor("scale", {shape.channels})};
    if (bias) tensors_.push_back(make_tensor("shift", {shape.channels}));
    lay_out(tensors_);
  }

  std::string describe() const override { return text_; }
  ImageShape output() const override { return input_; }
  std::vector<TensorInfo> parameters() const override { return tensors_; }
  void initialise(const RandomKey&, Slice parameters, Slice) const override {
    std::ranges::fill(part(parameters, tensors_[0]), 1.0f);
  }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    RowNormShape shape = shape_;
    shape.rows = use.samples * input_.height * input_.width;
    return std::make_unique<RowNormPlan>(compute.plan(shape), tensors_);
  }

 private:
  std::string text_;
  ImageShape input_;
  RowNormShape shape_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace

std::unique_ptr<Layer> make_row_norm(const LayerContext& context, bool centred) {
  ArgumentReader arguments(context.text);
  RowNormShape shape;
  shape.channels = context.input.channels;
  shape.centred = centred;
  bool bias = centred;
  while (arguments.has_next()) {
    if (centred && arguments.take_word("no_bias")) {
      bias = false;
    } else if (arguments.take_word("epsilon")) {
      shape.epsilon = arguments.take_number("epsilon", 1e-12f, 1);
    } else {
      break;
    }
  }
  arguments.finish();
  return std::make_unique<RowNormLayer>(context, shape, bias);
}

RotaryAngles read_angles(ArgumentReader& arguments) {
  constexpr float kMost = 1e9f;
  RotaryAngles angles;
  if (arguments.take_word("base")) angles.base = arguments.take_number("the base", 1, kMost);
  if (!arguments.take_word("stretch")) return angles;
  angles.stretch = arguments.take_number("the stretch", 1, kMost);
  if (!arguments.take_word("low")) return angles;
  angles.low = arguments.take_number("the turns of stretched pairs", 0, kMost);
  arguments.require_word("high");
  angles.high = arguments.take_number("the turns of other pairs", angles.low, kMost);
  arguments.require_word("trained");
  angles.trained = arguments.take_number("the number of positions", 1, kMost);
  return angles;
}

AttentionShape read_heads(const LayerContext& context, ArgumentReader& arguments) {
  AttentionShape shape;
  shape.positions = std::int64_t{1} * context.input.height * context.input.width;
  shape.heads = shape.groups = arguments.take_count("the number of heads", 1, kMostHeads);
  if (arguments.take_word("groups")) shape.groups = arguments.take_count("the number of groups", 1, kMostHeads);
  const std::int64_t parts = shape.heads + 2 * shape.groups, channels = context.input.channels;
  if (shape.heads % shape.groups != 0) {
    fail_fit(context.text, "its " + std::to_string(shape.heads) + " heads cannot share the keys and values of " +
                               std::to_string(shape.groups) + " groups evenly");
  }
  if (channels % parts != 0) {
    fail_fit(context.text, "its input has " + std::to_string(channels) + " channels, which are no multiple of " +
                               std::to_string(parts) + ", the queries of " + std::to_string(shape.heads) +
                               " heads with the keys and values of " + std::to_string(shape.groups) + " groups");
  }
  shape.width = channels / parts;
  return shape;
}

}  // namespace eave
