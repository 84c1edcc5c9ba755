// Divides each value by a power of the sum of squares over neighbouring channels: y = x / (bias + alpha · Σ x²)^beta
// (Krizhevsky et al. 2012, section 3.3, whose constants are the defaults). PyTorch's LocalResponseNorm takes the
// window's number of channels, 2 · radius + 1, and divides alpha by it.
#include "kernels/cpu/layers.h"
#include "nn/layer.h"

namespace eave {
namespace {

class LocalResponseNormPlan final : public LayerPlan {
 public:
  LocalResponseNormPlan(Compute& compute, const LocalResponseShape& shape) : compute_(compute), shape_(shape) {}
  void forward(const ForwardCall& call) override {
    compute_.local_response_norm_forward(shape_, call.input, call.output);
  }
  void backward(const BackwardCall& call) override {
    if (!call.d_input.empty()) compute_.local_response_norm_backward(shape_, call.input, call.d_output, call.d_input);
  }

 private:
  Compute& compute_;
  LocalResponseShape shape_;
};

class LocalResponseNorm final : public Layer {
 public:
  LocalResponseNorm(const LayerText& text, ImageShape image, const LocalResponseShape& shape)
      : text_(text.text()), image_(image), shape_(shape) {}
  std::string describe() const override { return text_; }
  ImageShape output() const override { return image_; }
  bool reads_neighbours() const override { return true; }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    LocalResponseShape shape = shape_;
    shape.rows = use.samples * image_.height * image_.width;
    return std::make_unique<LocalResponseNormPlan>(compute, shape);
  }

 private:
  std::string text_;
  ImageShape image_;
  LocalResponseShape shape_;
};

std::unique_ptr<Layer> make_local_response_norm(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  LocalResponseShape shape;
  shape.channels = context.input.channels;
  while (arguments.has_next()) {
    if (arguments.take_word("radius")) {
      shape.radius = arguments.take_count("the radius", 1, cpu::kLargestRadius);
    } else if (arguments.take_word("alpha")) {
      shape.alpha = arguments.take_number("alpha", 0, 1000);
    } else if (arguments.take_word("beta")) {
      shape.beta = arguments.take_number("beta", 0, 10);
    } else if (arguments.take_word("bias")) {
      shape.bias = arguments.take_number("the bias", 0.001f, 1000);
    } else {
      break;
    }
  }
  arguments.finish();
  return std::make_unique<LocalResponseNorm>(context.text, context.input, shape);
}

}  // namespace

LayerKind describe_layer_local_response_norm() {
  return {"local_response_norm", "", "local_response_norm [radius 2] [alpha 0.0001] [beta 0.75] [bias 2]",
          make_local_response_norm};
}

}  // namespace eave
