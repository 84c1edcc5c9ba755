// y = x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) / 2, an approximation of gelu (Hendrycks, Gimpel 2016).
#include "nn/operation_layer.h"

namespace eave {

LayerKind describe_layer_gelu_tanh() {
  return {"gelu_tanh", "", "gelu_tanh", make_plain_activation<Elementwise::kGeluTanh>};
}

}  // namespace eave
