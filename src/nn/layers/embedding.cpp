// y = table[token] + positions[place]: a vector for each token of the data, and optionally one for each place in the
// window (learned positions). The first layer of a model of text. A tied_output at the model's end borrows the table.
#include "nn/operation_layer.h"

namespace eave {
namespace {

constexpr int kMostWidth = 1 << 16;
constexpr int kMostPlaces = 1 << 20;
constexpr double kDeviation = 0.02;  // of first weights: that of GPT-2 (Radford et al. 2018, section 4.1)

class EmbeddingPlan final : public OperationLayerPlan<EmbeddingShape::Plan> {
 public:
  EmbeddingPlan(std::unique_ptr<EmbeddingShape::Plan> plan, const std::vector<TensorInfo>& tensors)
      : OperationLayerPlan(std::move(plan)),
        table_(tensors[0]),
        places_(tensors.back()),
        has_places_(tensors.size() == 2) {}

  void forward(const ForwardCall& call) override {
    plan_->forward({call.input, part(call.parameters, table_),
                    has_places_ ? part(call.parameters, places_) : ConstSlice(), call.output});
  }
  void backward(const BackwardCall& call) override {
    plan_->backward({call.input, call.d_output, part(call.d_parameters, table_),
                     has_places_ ? part(call.d_parameters, places_) : Slice(), call.adds, call.scratch});
  }

 private:
  TensorInfo table_, places_;
  bool has_places_;
};

class Embedding final : public Layer {
 public:
  Embedding(const LayerText& text, const EmbeddingShape& shape, double deviation)
      : text_(text.text()), shape_(shape), deviation_(deviation) {
    tensors_ = {make_tensor("weight", {shape.vocabulary, shape.width})};
    if (shape.places > 0) tensors_.push_back(make_tensor("positions", {shape.places, shape.width}));
    lay_out(tensors_);
  }

  std::string describe() const override { return text_; }
  ImageShape output() const override { return {static_cast<int>(shape_.positions), 1, static_cast<int>(shape_.width)}; }
  std::vector<TensorInfo> parameters() const override { return tensors_; }
  void initialise(const RandomKey& key, Slice parameters, Slice) const override {
    const TensorInfo& last = tensors_.back();
    fill_normal(key, deviation_, parameters.first(static_cast<std::size_t>(last.offset + last.size)));
    const auto table = static_cast<std::size_t>(tensors_[0].size);
    if (tensors_.size() == 2) {  // the gap between the tables stays 0
      for (float& value : parameters.subspan(table, static_cast<std::size_t>(last.offset) - table)) value = 0;
    }
  }
  PlaceRole place_role() const override { return {PlaceRole::Kind::kTable}; }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    EmbeddingShape shape = shape_;
    shape.samples = use.samples;
    return std::make_unique<EmbeddingPlan>(compute.plan(shape), tensors_);
  }

 private:
  std::string text_;
  EmbeddingShape shape_;
  double deviation_;
  std::vector<TensorInfo> tensors_;
};

std::unique_ptr<Layer> make_embedding(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  EmbeddingShape shape;
  shape.positions = context.input.height;
  shape.vocabulary = context.classes;
  shape.width = arguments.take_count("the number of channels", 1, kMostWidth);
  if (arguments.take_word("positions")) shape.places = arguments.take_count("the number of positions", 1, kMostPlaces);
  double deviation = kDeviation;
  if (arguments.take_word("deviation")) deviation = double{arguments.take_number("the deviation", 1e-6f, 10)};
  arguments.finish();
  if (context.input.width != 1 || context.input.channels != 1) {
    fail_fit(context.text, "it reads tokens, but its input is " + to_string(context.input) + "; give data of text");
  }
  if (shape.places > 0 && shape.positions > shape.places) {
    fail_fit(context.text, "the data's windows have " + std::to_string(shape.positions) +
                               " tokens, but the model has positions for " + std::to_string(shape.places) +
                               "; give a --context of at most that");
  }
  return std::make_unique<Embedding>(context.text, shape, deviation);
}

}  // namespace

LayerKind describe_layer_embedding() {
  return {"embedding", "embed", "embedding CHANNELS [positions P] [deviation D]", make_embedding};
}

}  // namespace eave
