// The largest value of each window. A convolution with relu absorbs a plain max_pool directly behind it.
#include "nn/operation_layer.h"

namespace eave {
namespace {

std::unique_ptr<Layer> make_max_pool(const LayerContext& context) {
  const PoolShape shape = read_pool(context);
  if (shape.window.height * shape.window.width > 255) fail_layer(context.text, "windows have at most 255 pixels");
  return make_unary_layer({context.text.text(), shape.output(), [shape](Compute& compute, std::int64_t samples) {
                             return compute.plan(MaxPoolShape{{samples, shape.input, shape.window}});
                           }});
}

}  // namespace

LayerKind describe_layer_max_pool() {
  return {"max_pool", "", "max_pool SIZE [stride S] [pad P]", make_max_pool, true};
}

}  // namespace eave
