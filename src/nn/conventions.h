// Describes in words what a model's layers compute. Libraries differ in these conventions, and the model's text and
// arrays do not show them. Whoever rebuilds the model elsewhere needs them.
#pragma once

#include <string>

#include "nn/tensor_layout.h"

namespace eave {

// One line for each kind of layer in the model that has such a convention. The lines use the names that arrays have in
// `layout`.
std::string conventions_of(const std::string& specification, const Graph& graph, TensorLayout layout);

}  // namespace eave
