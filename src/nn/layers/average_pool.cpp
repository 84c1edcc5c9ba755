// The mean of each window. Zeros of the padding count as values.
#include "nn/operation_layer.h"

namespace eave {
namespace {

std::unique_ptr<Layer> make(const LayerContext& context) { return make_average_pool(context.text, read_pool(context)); }

}  // namespace

std::unique_ptr<Layer> make_average_pool(const LayerText& text, const PoolShape& shape) {
  return make_unary_layer({text.text(), shape.output(), [shape](Compute& compute, std::int64_t samples) {
                             return compute.plan(AveragePoolShape{{samples, shape.input, shape.window}});
                           }});
}

LayerKind describe_layer_average_pool() {
  return {"average_pool", "", "average_pool SIZE [stride S] [pad P]", make, true};
}

}  // namespace eave
