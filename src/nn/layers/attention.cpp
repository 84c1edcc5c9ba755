// Causal self-attention of several heads (Vaswani et al. 2017). It has no parameters: its input has the queries of all
// heads, then the keys and the values, as a linear layer before it gives them.
#include "nn/operation_layer.h"
#include "nn/token_layers.h"

namespace eave {
namespace {

class AttentionPlan final : public OperationLayerPlan<AttentionShape::Plan> {
 public:
  using OperationLayerPlan::OperationLayerPlan;
  void forward(const ForwardCall& call) override {
    plan_->forward({call.input, call.output, call.saved, call.scratch});
  }
  void backward(const BackwardCall& call) override {
    if (call.d_input.empty()) return;
    plan_->backward({call.input, call.output, call.saved, call.d_output, call.d_input, call.scratch});
  }
};

class Attention final : public Layer {
 public:
  Attention(const LayerText& text, const AttentionShape& shape) : text_(text.text()), shape_(shape) {}

  std::string describe() const override { return text_; }
  ImageShape output() const override {
    return {static_cast<int>(shape_.positions), 1, static_cast<int>(shape_.output_row())};
  }
  PlaceRole place_role() const override { return {PlaceRole::Kind::kAttention, shape_}; }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    AttentionShape shape = shape_;
    shape.samples = use.samples;
    return std::make_unique<AttentionPlan>(compute.plan(shape));
  }

 private:
  std::string text_;
  AttentionShape shape_;
};

std::unique_ptr<Layer> make_attention(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  AttentionShape shape = read_heads(context, arguments);
  if (arguments.take_word("dropout")) shape.dropout = arguments.take_fraction("the share of dropped shares");
  shape.layer = static_cast<std::uint32_t>(context.text.number);
  arguments.finish();
  return std::make_unique<Attention>(context.text, shape);
}

}  // namespace

LayerKind describe_layer_attention() {
  return {"attention", "", "attention HEADS [groups G] [dropout RATE]", make_attention};
}

}  // namespace eave
