// What the layers attention and rotary say of the rows that they read.
#pragma once

#include "nn/layer.h"

namespace eave {

// Reads "HEADS [groups G]". Throws if the input's channels are not the queries of the heads with the keys and values of
// the groups.
AttentionShape read_heads(const LayerContext& context, ArgumentReader& arguments);

}  // namespace eave
