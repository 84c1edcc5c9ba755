// Divides each value by a power of the sum of squares over neighbouring channels: y = x / (bias + alpha · Σ x²)^beta
// (Krizhevsky et al. 2012, section 3.3, whose constants are the defaults). PyTorch's LocalResponseNorm takes the
// window's number of channels, 2 · radius + 1, and divides alpha by it.
#include "kernels/cpu/layers.h"
#include "nn/operation_layer.h"

namespace eave {
namespace {

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
  const ImageShape image = context.input;
  const auto plan = [shape, pixels = std::int64_t{image.height} * image.width](Compute& compute, std::int64_t samples) {
    LocalResponseShape planned = shape;
    planned.rows = samples * pixels;
    return compute.plan(planned);
  };
  return make_unary_layer({context.text.text(), image, plan, true});
}

}  // namespace

LayerKind describe_layer_local_response_norm() {
  return {"local_response_norm", "", "local_response_norm [radius 2] [alpha 0.0001] [beta 0.75] [bias 2]",
          make_local_response_norm};
}

}  // namespace eave
