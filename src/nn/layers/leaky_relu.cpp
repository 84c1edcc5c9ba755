// y = x where x is positive, otherwise slope · x (Maas et al. 2013).
#include "nn/operation_layer.h"

namespace eave {
namespace {

constexpr float kLeakySlope = 0.01f;  // of the paper

std::unique_ptr<Layer> make_leaky_relu(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  const float slope = arguments.has_next() ? arguments.take_number("the slope", 0, 1) : kLeakySlope;
  arguments.finish();
  return make_activation_layer(context, {Elementwise::kLeakyRelu, slope});
}

}  // namespace

LayerKind describe_layer_leaky_relu() { return {"leaky_relu", "", "leaky_relu [SLOPE 0.01]", make_leaky_relu}; }

}  // namespace eave
