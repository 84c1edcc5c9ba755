// Convolution of NHWC images. The layer absorbs a relu and a max-pool that follow it, so that all are one operation.

#include "nn/operation_layer.h"

namespace eave {
namespace {

constexpr int kMostChannels = 1 << 16;

class Convolution final : public Layer {
 public:
  Convolution(const LayerText& text, const ConvolutionShape& shape) : text_(text.text()), shape_(shape) {
    const Window& window = shape.window;
    tensors_ = {make_tensor("weight", {window.height, window.width, shape.input.channels, shape.outputs})};
    if (shape.bias) tensors_.push_back(make_tensor("bias", {shape.outputs}));
    lay_out(tensors_);
  }

  std::string describe() const override {
    return text_ + (shape_.relu ? ", relu" : "") + (shape_.pool > 0 ? ", max_pool " + std::to_string(shape_.pool) : "");
  }
  ImageShape output() const override { return shape_.output(); }
  std::vector<TensorInfo> parameters() const override { return tensors_; }
  void initialise(const RandomKey& key, Slice parameters, Slice) const override {
    const Window& window = shape_.window;
    fill_weights(key, double{1} * window.height * window.width * shape_.input.channels, part(parameters, tensors_[0]));
  }
  bool absorb(const LayerText& next) override;
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    ConvolutionShape shape = shape_;
    shape.samples = use.samples;
    shape.training = use.training;
    shape.input_gradient = use.input_gradient;
    return make_linear_layer_plan(compute.plan(shape), tensors_);
  }

 private:
  bool absorb_pool(const LayerText& next);

  std::string text_;
  ConvolutionShape shape_;
  std::vector<TensorInfo> tensors_;
};

bool Convolution::absorb(const LayerText& next) {
  if (shape_.pool > 0) return false;
  return absorb_relu(next, shape_.relu) || (shape_.relu && next.word == "max_pool" && absorb_pool(next));
}

// Absorbs only square pools without padding and overlap, of at most 15 pixels a side.
bool Convolution::absorb_pool(const LayerText& next) {
  if (next.arguments.size() != 1) return false;
  const ArgumentReader::Size size = ArgumentReader(next).take_size("the window");
  const ImageShape full = shape_.convolved();
  if (size.height != size.width || size.height > full.height || size.height > full.width || size.height > 15)
    return false;
  shape_.pool = size.height;
  return true;
}

std::unique_ptr<Layer> make_conv2d(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  ConvolutionShape shape;
  shape.input = context.input;
  shape.outputs = arguments.take_count("the number of outputs", 1, kMostChannels);
  const auto size = arguments.take_size("the window");
  shape.window = {size.height, size.width, 1, 0};
  while (arguments.has_next()) {
    if (arguments.take_word("no_bias")) {
      shape.bias = false;
    } else if (!take_window_option(arguments, shape.window)) {
      break;
    }
  }
  arguments.finish();
  require_window_fits(context, shape.window, shape.output());
  return std::make_unique<Convolution>(context.text, shape);
}

}  // namespace

LayerKind describe_layer_conv2d() {
  return {"conv2d", "conv", "conv2d OUTPUTS HEIGHTxWIDTH [stride S] [pad P] [no_bias]", make_conv2d, true};
}

}  // namespace eave
