// y = x / (1 + e^−x) (Elfwing, Uchibe, Doya 2018).
#include "nn/operation_layer.h"

namespace eave {

LayerKind describe_layer_silu() { return {"silu", "", "silu", make_plain_activation<Elementwise::kSilu>}; }

}  // namespace eave
