// y = max(x, 0). In most models the layer before it absorbs it.
#include "nn/operation_layer.h"

namespace eave {

LayerKind describe_layer_relu() { return {"relu", "", "relu", make_plain_activation<Elementwise::kRelu>}; }

}  // namespace eave
