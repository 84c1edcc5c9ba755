// Root-mean-square normalisation (Zhang and Sennrich 2019): each position over its channels.
#include "nn/token_layers.h"

namespace eave {

LayerKind describe_layer_rms_norm() {
  return {"rms_norm", "rms", "rms_norm [epsilon 0.00001]",
          [](const LayerContext& context) { return make_row_norm(context, false); }};
}

}  // namespace eave
