// The layer of an elementwise word (kernels/elementwise), for the files of src/nn/layers that have one.
#pragma once

#include "kernels/elementwise/words.h"
#include "nn/layer.h"

namespace eave {

// The caller has read the layer's arguments.
std::unique_ptr<Layer> make_activation_layer(const LayerContext& context, const Activation& activation);

// The layer of a word without a parameter.
template <Elementwise kWord>
std::unique_ptr<Layer> make_plain_activation(const LayerContext& context) {
  ArgumentReader(context.text).finish();
  return make_activation_layer(context, {kWord});
}

}  // namespace eave
