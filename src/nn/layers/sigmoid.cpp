// y = 1 / (1 + e^−x).
#include "nn/operation_layer.h"

namespace eave {

LayerKind describe_layer_sigmoid() { return {"sigmoid", "", "sigmoid", make_plain_activation<Elementwise::kSigmoid>}; }

}  // namespace eave
