// Parts that pooling layers share.
#pragma once

#include "nn/layer.h"

namespace eave {

// Reads "SIZE [stride S] [pad P]". The stride defaults to the window's height. Throws if the window does not fit the
// input.
PoolShape read_pool(const LayerContext& context);

std::unique_ptr<Layer> make_average_pool(const LayerText& text, const PoolShape& shape);

}  // namespace eave
