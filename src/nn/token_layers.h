// Functions that several layers of windows of tokens share.
#pragma once

#include <memory>

#include "nn/layer.h"

namespace eave {

// Makes layer_norm, or rms_norm if not `centred`: reads "[no_bias] [epsilon E]". RMS norm has no bias.
std::unique_ptr<Layer> make_row_norm(const LayerContext& context, bool centred);

// Reads "HEADS [groups G]" of attention and rotary. Throws if the input's channels are not the queries of the heads
// with the keys and values of the groups.
AttentionShape read_heads(const LayerContext& context, ArgumentReader& arguments);
// Reads "[base B] [stretch S [low L high H trained POSITIONS]]" of rotary.
RotaryAngles read_angles(ArgumentReader& arguments);

}  // namespace eave
