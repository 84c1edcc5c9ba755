// Layer normalisation (Ba et al. 2016): each position over its channels.
#include "nn/token_layers.h"

namespace eave {

LayerKind describe_layer_layer_norm() {
  return {"layer_norm", "ln", "layer_norm [no_bias] [epsilon 0.00001]",
          [](const LayerContext& context) { return make_row_norm(context, true); }};
}

}  // namespace eave
