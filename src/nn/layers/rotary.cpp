// Rotary positions (Su et al. 2021): turns the queries and keys of an attention layer that follows.
#include "nn/operation_layer.h"
#include "nn/token_layers.h"

namespace eave {
namespace {

std::unique_ptr<Layer> make_rotary(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  RotaryShape shape;
  shape.of = read_heads(context, arguments);
  shape.angles = read_angles(arguments);
  arguments.finish();
  if (shape.of.width % 2 != 0) {
    fail_fit(context.text, "a head has " + std::to_string(shape.of.width) + " channels, but it turns pairs of them");
  }
  const auto plan = [shape](Compute& compute, std::int64_t samples) {
    RotaryShape planned = shape;
    planned.of.samples = samples;
    return compute.plan(planned);
  };
  return make_unary_layer(
      {context.text.text(), context.input, plan, false, {PlaceRole::Kind::kRotary, shape.of, shape.angles}});
}

}  // namespace

LayerKind describe_layer_rotary() {
  return {"rotary", "", "rotary HEADS [groups G] [base 10000] [stretch 1 [low L high H trained POSITIONS]]",
          make_rotary};
}

}  // namespace eave
