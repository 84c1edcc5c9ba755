// The layers that normalise each position over its channels: layer_norm and rms_norm.
#pragma once

#include <memory>

#include "nn/layer.h"

namespace eave {

// Reads "[no_bias] [epsilon E]"; RMS norm (`centred` false) has no bias.
std::unique_ptr<Layer> make_row_norm(const LayerContext& context, bool centred);

}  // namespace eave
