// What pooling layers have in common.
#pragma once

#include "nn/layer.h"

namespace eave {

// Reads "SIZE [stride S] [pad P]"; the stride is the window's height unless given. Fails where it does not fit the
// input.
PoolShape read_pool(const LayerContext& context);

std::unique_ptr<Layer> make_average_pool(const LayerText& text, const PoolShape& shape);

}  // namespace eave
