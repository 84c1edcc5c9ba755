// y = x · Φ(x), with the normal distribution Φ (Hendrycks, Gimpel 2016).
#include "nn/operation_layer.h"

namespace eave {

LayerKind describe_layer_gelu() { return {"gelu", "", "gelu", make_plain_activation<Elementwise::kGelu>}; }

}  // namespace eave
