// y = word(a) · b, where a is the first half of the channels of each position and b the second (Shazeer 2020): with
// silu, SwiGLU.
#include "nn/operation_layer.h"

namespace eave {
namespace {

// Sets the word of that name. False if there is none, or it has a parameter.
bool find_word(ArgumentReader& arguments, Elementwise& word) {
#define EAVE_IF(name, Word)                                                     \
  if constexpr (std::is_empty_v<elementwise::Word>) {                           \
    if (arguments.take_word(#name)) return (word = Elementwise::k##Word), true; \
  }
  EAVE_EACH_ELEMENTWISE(EAVE_IF)
#undef EAVE_IF
  return false;
}

std::unique_ptr<Layer> make_gated(const LayerContext& context) {
  ArgumentReader arguments(context.text);
  GatedShape shape;
  if (!find_word(arguments, shape.word))
    fail_layer(context.text, "it needs an activation without argument, such as silu");
  arguments.finish();
  ImageShape output = context.input;
  if (output.channels % 2 != 0) {
    fail_fit(context.text, "its input has " + std::to_string(output.channels) + " channels, which have no halves");
  }
  output.channels /= 2;
  shape.channels = output.channels;
  const auto plan = [shape, pixels = std::int64_t{output.height} * output.width](Compute& compute,
                                                                                 std::int64_t samples) {
    GatedShape planned = shape;
    planned.rows = samples * pixels;
    return compute.plan(planned);
  };
  return make_unary_layer({context.text.text(), output, plan, false, {}, {output.channels, output.channels}});
}

}  // namespace

LayerKind describe_layer_gated() { return {"gated", "", "gated ACTIVATION", make_gated}; }

}  // namespace eave
