// The mean of each channel over the whole image.
#include "nn/layer.h"

namespace eave {
namespace {

std::unique_ptr<Layer> make_global_pool(const LayerContext& context) {
  ArgumentReader(context.text).finish();
  const ImageShape in = context.input;
  // There is only one window, over the whole image, so its stride has no effect.
  return make_average_pool(context.text, PoolShape{0, in, {in.height, in.width, in.height, 0}});
}

}  // namespace

LayerKind describe_layer_global_pool() { return {"global_pool", "", "global_pool", make_global_pool, true}; }

}  // namespace eave
