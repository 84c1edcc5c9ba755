// y = tanh(x).
#include "nn/operation_layer.h"

namespace eave {

LayerKind describe_layer_tanh() { return {"tanh", "", "tanh", make_plain_activation<Elementwise::kTanh>}; }

}  // namespace eave
